/// @file
/// A Runtime as the commands use it: waits that a signal ends, and failures as sentences.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <verbena/runtime.hpp>

#include "interrupt.hpp"
#include "output.hpp"
#include "parameters.hpp"

namespace verbena::tools {

/// One caller at a time. While it lives, a first SIGINT makes finish() throw Interrupted.
class Session {
  public:
    /// `verbosity` 1: the choice of the device on stderr; 2: also everything that was passed over.
    Session(const Settings& settings, int verbosity);

    [[nodiscard]] Runtime& runtime() { return runtime_; }
    /// The only peer of a job of two.
    [[nodiscard]] Endpoint& peer();

    /// Waits. @returns the bytes that arrived or left. @throws Error naming `what` when it fails or takes longer than
    /// operation-timeout; Interrupted
    std::uint64_t finish(Operation& operation, std::string_view what);

    /// A message of no bytes each way: no end leaves before the other has come.
    void meet();

    /// Runtime::exchange() once all that was sent has arrived: it waits for the other ranks without moving messages,
    /// and a rank that still misses one of ours would never come.
    [[nodiscard]] std::vector<std::string> exchange(std::string_view value);

    /// Compares parameters with every other rank's. @throws Error (invalid_argument) on all of them, listing each
    /// difference.
    void agree(const Parameters& here);

    /// What describes the way to the peer: backend, device, and the reason.
    [[nodiscard]] std::vector<Field> description();

  private:
    Runtime runtime_;
    std::chrono::nanoseconds limit_;
    std::optional<Endpoint> peer_;
    Interruptible interruptible_;
};

/// Declared after buffers that messages move into or out of: when a failure or a signal leaves their scope, the runtime
/// is closed before they go, since closing still moves messages.
class ClosesOnFailure {
  public:
    explicit ClosesOnFailure(Session& session) : session_(session), exceptions_(std::uncaught_exceptions()) {}
    ~ClosesOnFailure() {
        if (std::uncaught_exceptions() > exceptions_) session_.runtime().close();
    }
    ClosesOnFailure(const ClosesOnFailure&) = delete;
    ClosesOnFailure& operator=(const ClosesOnFailure&) = delete;

  private:
    Session& session_;
    int exceptions_;
};

} // namespace verbena::tools
