#include "one_sided_measurement.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include <fmt/format.h>
#include <verbena/error.hpp>

#include "pattern.hpp"
#include "sizes.hpp"

namespace verbena::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Tag region_tag = 11;
constexpr Tag done_tag = 12;

/// Places of their own for a window of puts and gets, as far as they fit.
constexpr std::uint64_t window_bytes = 64ull << 20;
constexpr std::uint64_t word_room = 64;

constexpr std::array names = {
    std::pair{PerfOperation::send, "send"},
    std::pair{PerfOperation::put, "put"},
    std::pair{PerfOperation::put_with_signal, "put_with_signal"},
    std::pair{PerfOperation::get, "get"},
    std::pair{PerfOperation::fetch_add, "fetch_add"},
    std::pair{PerfOperation::compare_and_swap, "compare_and_swap"},
};

std::uint64_t room_for(std::uint64_t largest, std::uint64_t window) {
    const std::uint64_t one = std::max<std::uint64_t>(largest, 8);
    const std::uint64_t all = std::min(window * one, std::max(window_bytes, one));
    return (all + 7) / 8 * 8;
}

constexpr Access rights = Access::remote_read | Access::remote_write | Access::remote_atomic;

} // namespace

PerfOperation perf_operation(std::string_view name) {
    std::string known;
    for (const auto& [operation, text] : names) {
        if (name == text) return operation;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", text);
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("no operation is called \"{}\"", name),
                "the operations are " + known);
}

OneSidedMeasurement::OneSidedMeasurement(Session& session, PerfOperation operation, std::uint64_t largest_bytes,
                                         std::uint64_t window, MemoryChoice memory)
    : session_(session),
      operation_(operation),
      window_(window),
      data_bytes_(room_for(largest_bytes, window)),
      local_(session.runtime().allocate(data_bytes_, memory.kind, memory.gpu)),
      lent_(session.runtime().allocate(data_bytes_ + word_room, MemoryKind::host, 0, Access::local_write | rights)),
      counts_(window),
      before_(window),
      running_(window) {
    std::fill(lent_.bytes().begin(), lent_.bytes().end(), std::byte{0});
    const RemoteRegion::Encoded own = lent_.remote(rights).encode();
    RemoteRegion::Encoded other{};
    Operation arrival = session.peer().receive(other, region_tag);
    Operation departure = session.peer().send(own, region_tag);
    session.finish(arrival, "receiving the other end's region");
    session.finish(departure, "sending the region");
    theirs_ = RemoteRegion::decode(other);
}

std::uint64_t OneSidedMeasurement::window(std::uint64_t bytes) const {
    if (is_atomic(operation_)) return window_;
    return std::clamp<std::uint64_t>(data_bytes_ / std::max<std::uint64_t>(bytes, 1), 1, window_);
}

Operation OneSidedMeasurement::start(std::uint64_t bytes, std::uint64_t index) {
    const std::uint64_t place = index % window(bytes);
    const std::uint64_t offset = place * (is_atomic(operation_) ? 8 : bytes);
    const std::span<std::byte> local =
        local_.bytes().subspan(is_atomic(operation_) ? 0 : offset, is_atomic(operation_) ? 0 : bytes);
    switch (operation_) {
    case PerfOperation::get:
        return session_.peer().get(local, theirs_, offset);
    case PerfOperation::put_with_signal:
        return session_.peer().put_with_signal(local, theirs_, offset, theirs_, signal_offset(), ++signals_);
    case PerfOperation::fetch_add:
        ++counts_[place];
        return session_.peer().fetch_add(theirs_, offset, 1, &before_[place]);
    case PerfOperation::compare_and_swap:
        ++counts_[place];
        return session_.peer().compare_and_swap(theirs_, offset, counts_[place] - 1, counts_[place], &before_[place]);
    default:
        return session_.peer().put(local, theirs_, offset);
    }
}

void OneSidedMeasurement::flush() {
    Operation flush = session_.peer().flush();
    session_.finish(flush, "flushing what was put");
}

void OneSidedMeasurement::release_other() {
    Operation done = session_.peer().send({}, done_tag);
    session_.finish(done, "telling the other end that this is done");
}

void OneSidedMeasurement::lend() {
    Operation done = session_.peer().receive({}, done_tag);
    session_.finish(done, "lending memory to the other end");
}

void OneSidedMeasurement::wait_for_signal(std::uint64_t value) {
    auto& word = *reinterpret_cast<std::uint64_t*>(lent_.data() + lent_.size() - word_room);
    const std::atomic_ref<std::uint64_t> signal(word);
    const auto deadline = Clock::now() + session_.runtime().settings().duration("operation-timeout");
    for (std::uint64_t polls = 0; signal.load(std::memory_order_acquire) != value; ++polls) {
        session_.runtime().progress();
        if (polls % 4096 != 4095) continue;
        throw_if_interrupted();
        const std::string failure = session_.peer().describe().failure;
        if (!failure.empty() || Clock::now() > deadline) {
            throw Error(failure.empty() ? ErrorCode::timed_out : ErrorCode::peer_lost,
                        fmt::format("signal {} did not come: {}", value,
                                    failure.empty() ? "operation-timeout has passed" : failure));
        }
    }
}

void OneSidedMeasurement::verify(std::uint64_t bytes, bool is_initiator) {
    const std::span<std::byte> lent = lent_.bytes().first(is_atomic(operation_) ? 0 : bytes);
    std::vector<std::byte> host(lent.size());
    const std::uint64_t seed = bytes + 3;
    const auto check = [&](std::span<const std::byte> got, const char* where) {
        if (const auto wrong = find_wrong(got, seed)) {
            throw Error(ErrorCode::internal,
                        fmt::format("wrong data {} after an operation of {}: byte {} should be {:#04x} and is {:#04x}",
                                    where, size_text(bytes), wrong->offset, wrong->expected, wrong->got),
                        "please report it, with the output of `verbena info`");
        }
    };
    if (operation_ == PerfOperation::get && !is_initiator) fill_pattern(lent, seed);
    session_.meet();
    if (is_initiator) {
        if (operation_ == PerfOperation::put || operation_ == PerfOperation::put_with_signal) {
            fill_pattern(host, seed);
        }
        session_.runtime().copy(local_.data(), host.data(), host.size());
        const std::uint64_t found = counts_[0];
        Operation once = start(bytes, 0);
        session_.finish(once, "the checked operation");
        flush();
        if (operation_ == PerfOperation::get) {
            session_.runtime().copy(host.data(), local_.data(), host.size());
            check(host, "here");
        }
        if (is_atomic(operation_) && before_[0] != found) {
            throw Error(ErrorCode::internal, fmt::format("an atomic found {} where {} was", before_[0], found),
                        "please report it, with the output of `verbena info`");
        }
        release_other();
    } else {
        lend();
        if (operation_ == PerfOperation::put_with_signal) ++signals_;
        if (operation_ == PerfOperation::put || operation_ == PerfOperation::put_with_signal) {
            check(lent, "at the other end");
        }
    }
    session_.meet();
}

std::vector<double> OneSidedMeasurement::times(std::uint64_t bytes, std::uint64_t warmup, std::uint64_t iterations,
                                               bool is_initiator) {
    std::vector<double> times;
    times.reserve(is_initiator ? iterations : 0);
    const bool takes_turns = operation_ == PerfOperation::put_with_signal;
    session_.meet();
    for (std::uint64_t i = 0; i < warmup + iterations && (is_initiator || takes_turns); ++i) {
        const auto begin = Clock::now();
        if (takes_turns && !is_initiator) wait_for_signal(++signals_);
        Operation operation = start(bytes, 0);
        if (takes_turns && is_initiator) wait_for_signal(++signals_);
        session_.finish(operation, "the timed operation");
        if (operation_ == PerfOperation::put) flush();
        const Microseconds time = Clock::now() - begin;
        if (is_initiator && i >= warmup) times.push_back(time.count() / (takes_turns ? 2 : 1));
    }
    if (takes_turns) flush();
    if (is_initiator) {
        release_other();
    } else {
        lend();
    }
    session_.meet();
    return times;
}

Seconds OneSidedMeasurement::stream(std::uint64_t bytes, std::uint64_t count, bool is_initiator) {
    session_.meet();
    const auto begin = Clock::now();
    if (is_initiator) {
        const std::uint64_t deep = window(bytes);
        for (std::uint64_t i = 0; i < count + deep; ++i) {
            Operation& slot = running_[i % deep];
            if (i >= deep && i - deep < count) session_.finish(slot, "an operation of the stream");
            if (i < count) slot = start(bytes, i);
        }
        flush();
    }
    const Seconds time = Clock::now() - begin;
    if (is_initiator) {
        release_other();
    } else {
        lend();
        if (operation_ == PerfOperation::put_with_signal) signals_ += count;
    }
    session_.meet();
    return time;
}

} // namespace verbena::tools
