/// @file
/// What can go wrong, said once for the whole library.
///
/// Three grades. *Not now* (a queue is full, nothing has arrived) is an ordinary value. *This operation failed* is a
/// Status at the end of its Operation. *This object cannot be made* is an Error, thrown. Nothing here aborts the
/// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <verbena/export.hpp>

namespace verbena {

/// What the caller can do next; the native code travels in Cause. A short list on purpose.
enum class ErrorCode : std::uint8_t {
    ok,                 ///< done
    invalid_argument,   ///< the call is wrong: correct it (the sentence says limit and actual value)
    truncated,          ///< the message was longer than the receive buffer: the head arrived, the tail is gone
    timed_out,          ///< the deadline passed; an Operation that was waited for lives on, unless it ended with this
                        ///< (a collective that a rank never came to)
    would_block,        ///< no room now; the progress that makes room is under way: ask again
    cancelled,          ///< taken back by its owner
    unavailable,        ///< this machine lacks something that the sentence names
    exhausted,          ///< a limit of the device, the system or a setting was reached
    refused,            ///< the other side, or the system, said no (wrong secret, permission, rights)
    peer_lost,          ///< the peer or the path to it is gone: this channel is over
    device_failed,      ///< the device is gone or broken: every channel on it is over
    protocol_violation, ///< the peer sent what no verbena of this version sends
    internal,           ///< a fault of verbena itself: please report it
};

/// The largest thing that stopped working; recovery switches on it.
enum class Scope : std::uint8_t { operation, channel, device, process };

/// Whose numbering a native code belongs to.
enum class Origin : std::uint8_t { none, system_errno, work_completion, libfabric, cuda };

/// The native code beneath an error, spelled by describe() with its specification's name.
struct Cause {
    Origin origin = Origin::none;
    std::int32_t code = 0;         ///< errno, ibv_wc_status, fi_errno or cudaError_t
    std::uint32_t vendor_code = 0; ///< vendor syndrome or provider errno; 0 where there is none

    friend bool operator==(const Cause&, const Cause&) = default;
};

/// How an operation ended. A plain value of 32 bytes: made and copied on the hot path.
struct [[nodiscard]] Status {
    ErrorCode code = ErrorCode::ok;
    Scope scope = Scope::operation;
    std::uint32_t source = 0; ///< rank that sent, for a receive
    std::uint64_t tag = 0;    ///< tag of the message, for a receive
    std::uint64_t bytes = 0;  ///< bytes that arrived in, or left, the caller's buffer
    Cause cause{};

    [[nodiscard]] bool ok() const noexcept { return code == ErrorCode::ok; }
};

/// An object cannot be made. what() is one sentence: what was tried, on what, what was seen. advice() is the next thing
/// to do, a command or a setting, and may be empty.
class VERBENA_API Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& sentence, std::string advice = {}, Cause cause = {})
        : std::runtime_error(sentence), code_(code), advice_(std::move(advice)), cause_(cause) {}
    ~Error() override;

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }
    [[nodiscard]] const std::string& advice() const noexcept { return advice_; }
    [[nodiscard]] Cause cause() const noexcept { return cause_; }

  private:
    ErrorCode code_;
    std::string advice_;
    Cause cause_;
};

/// The code's name as spelled above, e.g. "peer_lost".
[[nodiscard]] VERBENA_API std::string_view name(ErrorCode code) noexcept;
[[nodiscard]] VERBENA_API std::string_view name(Scope scope) noexcept;

/// The native code by its specification's name, e.g. "IBV_WC_RETRY_EXC_ERR (12), vendor 0x81"; empty for Origin::none.
[[nodiscard]] VERBENA_API std::string describe(const Cause& cause);

/// One line for people: "truncated: 4096 bytes arrived (operation)", with the native cause where there is one.
[[nodiscard]] VERBENA_API std::string describe(const Status& status);

} // namespace verbena
