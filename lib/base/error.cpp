#include <verbena/error.hpp>

#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace verbena {
namespace {

/// ibv_wc_status in the order of its values (infiniband/verbs.h; the numbers are ABI).
constexpr std::array<std::string_view, 22> work_completion_names = {
    "IBV_WC_SUCCESS",          "IBV_WC_LOC_LEN_ERR",       "IBV_WC_LOC_QP_OP_ERR",     "IBV_WC_LOC_EEC_OP_ERR",
    "IBV_WC_LOC_PROT_ERR",     "IBV_WC_WR_FLUSH_ERR",      "IBV_WC_MW_BIND_ERR",       "IBV_WC_BAD_RESP_ERR",
    "IBV_WC_LOC_ACCESS_ERR",   "IBV_WC_REM_INV_REQ_ERR",   "IBV_WC_REM_ACCESS_ERR",    "IBV_WC_REM_OP_ERR",
    "IBV_WC_RETRY_EXC_ERR",    "IBV_WC_RNR_RETRY_EXC_ERR", "IBV_WC_LOC_RDD_VIOL_ERR",  "IBV_WC_REM_INV_RD_REQ_ERR",
    "IBV_WC_REM_ABORT_ERR",    "IBV_WC_INV_EECN_ERR",      "IBV_WC_INV_EEC_STATE_ERR", "IBV_WC_FATAL_ERR",
    "IBV_WC_RESP_TIMEOUT_ERR", "IBV_WC_GENERAL_ERR"};

std::string_view work_completion_name(std::int32_t code) {
    const auto index = static_cast<std::size_t>(code);
    return code >= 0 && index < work_completion_names.size() ? work_completion_names[index] : "IBV_WC_?";
}

/// The errno's macro name where the C library has it, e.g. "ENOMEM".
std::string errno_name(std::int32_t code) {
    const char* macro = strerrorname_np(code);
    return macro != nullptr ? macro : fmt::format("errno {}", code);
}

} // namespace

Error::~Error() = default;

std::string_view name(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::ok:
        return "ok";
    case ErrorCode::invalid_argument:
        return "invalid_argument";
    case ErrorCode::truncated:
        return "truncated";
    case ErrorCode::timed_out:
        return "timed_out";
    case ErrorCode::would_block:
        return "would_block";
    case ErrorCode::cancelled:
        return "cancelled";
    case ErrorCode::unavailable:
        return "unavailable";
    case ErrorCode::exhausted:
        return "exhausted";
    case ErrorCode::refused:
        return "refused";
    case ErrorCode::peer_lost:
        return "peer_lost";
    case ErrorCode::device_failed:
        return "device_failed";
    case ErrorCode::protocol_violation:
        return "protocol_violation";
    case ErrorCode::internal:
        return "internal";
    }
    return "unknown";
}

std::string_view name(Scope scope) noexcept {
    switch (scope) {
    case Scope::operation:
        return "operation";
    case Scope::channel:
        return "channel";
    case Scope::device:
        return "device";
    case Scope::process:
        return "process";
    }
    return "unknown";
}

std::string describe(const Cause& cause) {
    const std::string vendor =
        cause.vendor_code != 0 ? fmt::format(", vendor {:#x}", cause.vendor_code) : std::string();
    switch (cause.origin) {
    case Origin::none:
        return {};
    case Origin::system_errno:
        return fmt::format("{} ({}){}", errno_name(cause.code), strerror(cause.code), vendor);
    case Origin::work_completion:
        return fmt::format("{} ({}){}", work_completion_name(cause.code), cause.code, vendor);
    case Origin::libfabric:
        return fmt::format("FI_{} ({}){}", errno_name(cause.code), cause.code, vendor);
    case Origin::cuda:
        return fmt::format("CUDA error {}{}", cause.code, vendor);
    }
    return {};
}

std::string describe(const Status& status) {
    if (status.ok()) return fmt::format("ok: {} bytes", status.bytes);
    std::string line = fmt::format("{} ({})", name(status.code), name(status.scope));
    if (status.code == ErrorCode::truncated) line += fmt::format(": {} bytes arrived", status.bytes);
    if (const std::string native = describe(status.cause); !native.empty()) line += ": " + native;
    return line;
}

} // namespace verbena
