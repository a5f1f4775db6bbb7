#include "measurement.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <verbena/error.hpp>

#include "pattern.hpp"
#include "sizes.hpp"

namespace verbena::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Tag pattern_tag = 1;
constexpr Tag ball_tag = 2;
constexpr Tag stream_tag = 3;
constexpr Tag all_received_tag = 4;

/// Each receive of a stream needs a place of its own, so beyond this the window shrinks instead, down to two.
constexpr std::uint64_t stream_bytes = 64ull << 20;

std::uint64_t receive_bytes(std::uint64_t largest_bytes, std::uint64_t window) {
    const std::uint64_t largest = std::max<std::uint64_t>(largest_bytes, 1);
    return std::min(window * largest, std::max(stream_bytes, 2 * largest));
}

std::uint64_t pattern_seed(std::uint32_t rank, std::uint64_t bytes) { return bytes * 2 + rank; }

} // namespace

Measurement::Measurement(Session& session, std::uint64_t largest_bytes, std::uint64_t window, MemoryChoice memory)
    : session_(session),
      window_(window),
      out_(session.runtime().allocate(std::max<std::uint64_t>(largest_bytes, 1), memory.kind, memory.gpu)),
      in_(session.runtime().allocate(receive_bytes(largest_bytes, window), memory.kind, memory.gpu)),
      sends_(window),
      receives_(window) {}

std::uint64_t Measurement::window(std::uint64_t bytes) const {
    return std::min(window_, std::max<std::uint64_t>(in_.size() / std::max<std::uint64_t>(bytes, 1), 1));
}

std::span<std::byte> Measurement::slot(MemoryRegion& region, std::uint64_t bytes, std::uint64_t index) {
    return region.bytes().subspan(index * bytes, bytes);
}

void Measurement::wait(std::vector<Operation>& operations, std::uint64_t index, const char* what) {
    session_.finish(operations[index], what);
}

void Measurement::verify(std::uint64_t bytes) {
    Runtime& runtime = session_.runtime();
    std::vector<std::byte> host(bytes);
    const std::span<std::byte> in = slot(in_, bytes, 0);
    fill_pattern(host, pattern_seed(runtime.rank(), bytes));
    runtime.copy(out_.data(), host.data(), bytes);
    std::fill(host.begin(), host.end(), std::byte{0});
    runtime.copy(in.data(), host.data(), bytes); // nothing right may be left from before
    Operation arrival = session_.peer().receive(in, pattern_tag);
    Operation departure = session_.peer().send(slot(out_, bytes, 0), pattern_tag);
    session_.finish(arrival, "receiving the check pattern");
    session_.finish(departure, "sending the check pattern");
    runtime.copy(host.data(), in.data(), bytes);
    if (const auto wrong = find_wrong(host, pattern_seed(session_.peer().rank(), bytes))) {
        throw Error(ErrorCode::internal,
                    fmt::format("wrong data in a message of {}: byte {} from rank {} should be {:#04x} and is {:#04x}",
                                size_text(bytes), wrong->offset, session_.peer().rank(), wrong->expected, wrong->got),
                    "please report it, with the output of `verbena info`");
    }
}

std::vector<double> Measurement::half_round_trips(std::uint64_t bytes, std::uint64_t warmup, std::uint64_t iterations,
                                                  bool is_initiator) {
    const std::span<std::byte> in = slot(in_, bytes, 0);
    const std::span<const std::byte> out = slot(out_, bytes, 0);
    std::vector<double> times;
    times.reserve(is_initiator ? iterations : 0);
    Operation ball = session_.peer().receive(in, ball_tag); // posted before the other end may send
    session_.meet();
    for (std::uint64_t i = 0; i < warmup + iterations; ++i) {
        const auto begin = Clock::now();
        Operation throw_;
        if (is_initiator) throw_ = session_.peer().send(out, ball_tag);
        session_.finish(ball, "receiving in the latency test");
        const Microseconds time = Clock::now() - begin;
        if (i + 1 < warmup + iterations) ball = session_.peer().receive(in, ball_tag);
        if (!is_initiator)
            throw_ = session_.peer().send(out, ball_tag);
        else if (i >= warmup)
            times.push_back(time.count() / 2);
        session_.finish(throw_, "sending in the latency test");
    }
    return times;
}

Seconds Measurement::stream(std::uint64_t bytes, std::uint64_t sends, std::uint64_t receives) {
    const std::uint64_t deep = window(bytes);
    Endpoint& peer = session_.peer();
    const std::span<const std::byte> out = slot(out_, bytes, 0);
    const auto receive = [&](std::uint64_t i) {
        receives_[i % deep] = peer.receive(slot(in_, bytes, i % deep), stream_tag);
    };
    for (std::uint64_t i = 0; i < std::min(deep, receives); ++i) receive(i);
    Operation other_received_all;
    if (sends != 0) other_received_all = peer.receive({}, all_received_tag);
    session_.meet();

    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < std::min(deep, sends); ++i) sends_[i % deep] = peer.send(out, stream_tag);
    for (std::uint64_t i = 0; i < std::max(sends, receives); ++i) {
        if (i < receives) {
            wait(receives_, i % deep, "receiving in the bandwidth test");
            if (i + deep < receives) receive(i + deep);
        }
        if (i < sends) {
            wait(sends_, i % deep, "sending in the bandwidth test");
            if (i + deep < sends) sends_[i % deep] = peer.send(out, stream_tag);
        }
    }
    Operation received_all;
    if (receives != 0) received_all = peer.send({}, all_received_tag);
    session_.finish(other_received_all, "waiting until the other end has received all");
    const Seconds time = Clock::now() - begin;
    session_.finish(received_all, "telling the other end that all was received");
    return time;
}

} // namespace verbena::tools
