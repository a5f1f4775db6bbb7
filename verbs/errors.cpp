#include "verbs/errors.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>

#include <fmt/format.h>

#include "verbs/sysfs.hpp"

namespace verbena::verbs {
namespace {

std::optional<std::uint64_t> limit_of(__rlimit_resource resource) {
    rlimit value{};
    if (getrlimit(resource, &value) != 0 || value.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return value.rlim_cur;
}

/// RDMA pins count as VmPin, not VmLck, and are held against the same limit.
Limit memlock() {
    Limit result{limit_of(RLIMIT_MEMLOCK), 0};
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmPin:")) result.used = std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    }
    return result;
}

std::uint64_t entries_in(const char* directory) {
    std::error_code error;
    std::uint64_t count = 0;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
        ++count;
    return count;
}

/// Each queue of a Soft-RoCE queue pair is a mapping of its own.
Explanation map_shortage() {
    const std::uint64_t limit = std::strtoull(read_line("/proc/sys/vm/max_map_count").c_str(), nullptr, 10);
    std::ifstream maps("/proc/self/maps");
    std::uint64_t used = 0;
    for (std::string line; std::getline(maps, line);) ++used;
    if (limit == 0 || used + 16 < limit) return {};
    return {fmt::format("vm.max_map_count is {} and {} mappings are in use", limit, used),
            fmt::format("sysctl vm.max_map_count={}", 4 * limit)};
}

Explanation memory_shortage(std::uint64_t pinned_bytes) {
    if (Explanation found = memlock_shortage(memlock(), pinned_bytes); !found.fact.empty()) return found;
    if (Explanation found = map_shortage(); !found.fact.empty()) return found;
    return {{},
            "no limit of this process is reached: `rdma resource show` tells what the device has given out, `free` and "
            "dmesg whether the kernel lacks memory"};
}

Explanation explain(int code, std::uint64_t pinned_bytes) {
    switch (code) {
    case ENOMEM:
        return memory_shortage(pinned_bytes);
    case EPERM:
        return memlock_shortage(memlock(), pinned_bytes);
    case EMFILE:
        return {fmt::format("open files: limit {}, in use {}", limit_of(RLIMIT_NOFILE).value_or(0),
                            entries_in("/proc/self/fd")),
                "raise it with ulimit -n, LimitNOFILE= (systemd) or --ulimit nofile= (containers)"};
    case EFAULT:
        return {{},
                "some of it is not mapped, or not writable although local_write was asked for; memory of a GPU needs "
                "nvidia-peermem"};
    case EACCES:
        return {{}, "`ls -l /dev/infiniband` shows who may open the devices"};
    default:
        return {};
    }
}

} // namespace

Cause errno_cause(int code) noexcept { return {Origin::system_errno, code < 0 ? -code : code, 0}; }

ErrorCode error_code_of(int positive_errno) noexcept {
    switch (positive_errno) {
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        return ErrorCode::exhausted;
    case EPERM:
    case EACCES:
        return ErrorCode::refused;
    case ENODEV:
    case EIO:
        return ErrorCode::device_failed;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return ErrorCode::peer_lost;
    case EINVAL:
    case EFAULT:
        return ErrorCode::invalid_argument;
    default:
        return ErrorCode::unavailable;
    }
}

Explanation memlock_shortage(const Limit& memlock, std::uint64_t needed) {
    if (!memlock.limit || memlock.used + needed <= *memlock.limit) return {};
    return {fmt::format("RLIMIT_MEMLOCK is {} bytes and {} are needed ({} pinned already)", *memlock.limit,
                        memlock.used + needed, memlock.used),
            "raise it where the process is started: ulimit -l and /etc/security/limits.d for logins, "
            "LimitMEMLOCK=infinity for systemd units and launcher daemons, --ulimit memlock=-1 for containers"};
}

Error errno_error(int code, const std::string& what, std::uint64_t pinned_bytes) {
    const Cause cause = errno_cause(code);
    const Explanation why = explain(cause.code, pinned_bytes);
    return Error(error_code_of(cause.code),
                 fmt::format("{}: {}{}{}", what, describe(cause), why.fact.empty() ? "" : "; ", why.fact), why.advice,
                 cause);
}

} // namespace verbena::verbs
