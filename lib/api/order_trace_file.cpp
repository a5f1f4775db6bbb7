#include "api/order_trace_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <verbena/error.hpp>

namespace verbena::detail {
namespace {

const char* name_of(msg::RequestKind kind) noexcept {
    switch (kind) {
    case msg::RequestKind::put:
        return "put";
    case msg::RequestKind::get:
        return "get";
    case msg::RequestKind::fetch_add:
        return "fetch_add";
    case msg::RequestKind::compare_and_swap:
        return "compare_and_swap";
    case msg::RequestKind::swap:
        return "swap";
    default:
        return "";
    }
}

const char* name_of(order::By by) noexcept {
    switch (by) {
    case order::By::wire:
        return "wire";
    case order::By::copied:
        return "copied";
    case order::By::engine:
        return "engine";
    }
    return "";
}

std::string text_of(const order::Range& range) { return fmt::format("[{},{}]", range.begin, range.length); }

} // namespace

OrderTraceFile::OrderTraceFile(const std::string& path, std::uint32_t rank, const wire::Capabilities& capabilities) {
    const std::string name = fmt::format("{}.{}", path, rank);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    // One that was there may have been readable by others.
    if (descriptor < 0 || ::fchmod(descriptor, 0600) != 0 || (file_ = ::fdopen(descriptor, "w")) == nullptr) {
        const int error = errno;
        if (descriptor >= 0) ::close(descriptor);
        throw Error(ErrorCode::refused, fmt::format("order-trace {}: {}", name, std::strerror(error)),
                    "give a path in a directory that this user may write to", {Origin::system_errno, error, 0});
    }
    fmt::print(file_, "{{\"verbena_order_trace\":1,\"rank\":{},\"ordered_writes\":{},\"native_fence\":{}}}\n", rank,
               capabilities.ordered_writes, capabilities.native_fence);
}

OrderTraceFile::~OrderTraceFile() { std::fclose(file_); }

void OrderTraceFile::posted(std::uint64_t operation, msg::RequestKind kind, const order::Touch& touch, bool fenced) {
    fmt::print(file_,
               "{{\"event\":\"posted\",\"operation\":{},\"kind\":\"{}\",\"by\":\"{}\",\"peer\":{},\"remote\":{},"
               "\"signal\":{},\"local\":{},\"loops\":{},\"fenced\":{}}}\n",
               operation, name_of(kind), name_of(touch.by), touch.peer, text_of(touch.remote), text_of(touch.signal),
               text_of(touch.local), touch.loops, fenced);
}

void OrderTraceFile::done(std::uint64_t operation) {
    fmt::print(file_, "{{\"event\":\"done\",\"operation\":{}}}\n", operation);
}

} // namespace verbena::detail
