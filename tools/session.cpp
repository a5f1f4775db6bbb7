#include "session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <verbena/version.hpp>

#include "notice.hpp"

namespace verbena::tools {
namespace {

constexpr std::chrono::milliseconds slice{100}; // how long a signal may go unnoticed
constexpr Tag meeting_tag = 0x6d656574;

std::string advice_for(ErrorCode code) {
    switch (code) {
    case ErrorCode::peer_lost:
        return "look at what the other end printed, and at the link between the two";
    case ErrorCode::timed_out:
        return "raise --operation-timeout, or look with `verbena info` at the device both ends chose";
    case ErrorCode::device_failed:
        return "`verbena info` shows whether the device is still there";
    default:
        return {};
    }
}

} // namespace

Session::Session(const Settings& settings, int verbosity)
    : runtime_(settings), limit_(runtime_.settings().duration("operation-timeout")) {
    if (runtime_.size() == 2) peer_ = runtime_.endpoint(1 - runtime_.rank());
    const Selection& selection = runtime_.selection();
    if (!selection.warning.empty()) notice(selection.warning);
    if (verbosity > 0) {
        notice(fmt::format("rank {} of {} uses {} ({}): {}", runtime_.rank(), runtime_.size(), selection.device,
                           selection.backend, selection.reason));
    }
    for (const Rejection& rejection : selection.rejected) {
        if (verbosity > 1) notice(fmt::format("passed over {}: {}", rejection.what, rejection.reason));
    }
}

Endpoint& Session::peer() {
    if (!peer_) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("this command needs a job of 2 ranks and this one has {}", runtime_.size()),
                    "start it on both ends, or with --local");
    }
    return *peer_;
}

std::uint64_t Session::finish(Operation& operation, std::string_view what) {
    throw_if_interrupted();
    Status status = operation.wait_for(slice);
    for (auto waited = std::chrono::nanoseconds(slice); status.code == ErrorCode::timed_out && waited < limit_;
         waited += slice) {
        throw_if_interrupted();
        status = operation.wait_for(slice);
    }
    if (status.ok()) return status.bytes;
    if (const std::string sentence = runtime_.world().failure(); !sentence.empty())
        throw Error(status.code, fmt::format("{}: {}", what, sentence), advice_for(status.code), status.cause);
    std::string failure = peer_ ? peer_->describe().failure : std::string();
    if (status.code == ErrorCode::peer_lost && !peer_ && status.source != runtime_.rank()) {
        failure = runtime_.endpoint(status.source).describe().failure;
    }
    if (!failure.empty()) failure = ": " + failure;
    throw Error(status.code, fmt::format("{}: {}{}", what, describe(status), failure), advice_for(status.code),
                status.cause);
}

void Session::meet() {
    Operation arrival = peer().receive({}, meeting_tag);
    Operation departure = peer().send({}, meeting_tag);
    finish(departure, "meeting the other end");
    finish(arrival, "meeting the other end");
}

std::vector<std::string> Session::exchange(std::string_view value) {
    for (std::uint32_t rank = 0; rank < runtime_.size(); ++rank) {
        if (rank == runtime_.rank()) continue;
        Operation flushed = runtime_.endpoint(rank).flush();
        finish(flushed, fmt::format("flushing what was sent to rank {}", rank));
    }
    return runtime_.exchange(value);
}

void Session::agree(const Parameters& here) {
    Parameters mine;
    mine.set("version", VERBENA_VERSION);
    for (const auto& [name, value] : here.entries()) mine.set(name, value);
    const std::vector<std::string> all = exchange(mine.encode());
    std::vector<std::string> found;
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
        const std::string where = peer_ ? "at the other end" : fmt::format("on rank {}", rank);
        for (std::string& difference : differences(mine, Parameters::decode(all[rank]), where))
            found.push_back(std::move(difference));
    }
    if (found.empty()) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the ends were started differently: {}", fmt::join(found, "; ")),
                "start all with the same version, command and options; nothing was done");
}

std::vector<Field> Session::description() {
    const Selection& selection = runtime_.selection();
    std::vector<Field> fields = {word("backend", "backend", selection.backend),
                                 word("device", "device", selection.device),
                                 word("reason", "chosen because", selection.reason)};
    if (peer_) {
        const ChannelInfo channel = peer_->describe();
        if (!channel.transport.empty()) fields.push_back(word("transport", "transport", channel.transport));
        if (!channel.local_address.empty()) fields.push_back(word("local_address", "local", channel.local_address));
        if (!channel.remote_address.empty()) fields.push_back(word("remote_address", "remote", channel.remote_address));
        if (channel.path_mtu_bytes != 0)
            fields.push_back(whole("path_mtu_bytes", "path MTU, bytes", channel.path_mtu_bytes));
    }
    return fields;
}

} // namespace verbena::tools
