/// A sender that is faster than its receiver posts buffers.
#include <algorithm>

#include <fmt/format.h>

#include "lab/scenario.hpp"

namespace verbena::lab {
namespace {

std::string buffers(std::size_t posted, std::size_t window, char mark) {
    std::string marks(std::min(posted, window), mark);
    marks.resize(window, '.');
    return fit(marks);
}

Act raw_verbs(const Stage& stage) {
    const auto bench = stage.bench();
    const std::uint32_t window = stage.depth;
    wire::QueuePairOptions options;
    options.send_depth = 2 * window;
    options.receive_depth = window;
    options.rnr_retry = 2;
    RawEnd sender(bench->device(0), options, 2 * window);
    RawEnd peer(bench->device(1), options, 2 * window);
    RawEnd::connect(sender, peer);
    peer.post_receives(window);

    Act act{"raw verbs",
            fmt::format("{} sends to a peer with {} receives, rnr_retry 2", 2 * window, window),
            "r receive posted at the peer, . none",
            {},
            {},
            false};
    act.steps.push_back({fmt::format("the peer posts {} receives", window), buffers(window, window, 'r'), ""});
    for (std::uint32_t i = 0; i < 2 * window; ++i) (void)sender.post(wire::Opcode::send, wire::signaled);
    act.steps.push_back({fmt::format("post {} sends", 2 * window), buffers(window, window, 'r'), "taken"});
    bench->wait([&] {
        sender.poll();
        peer.poll();
        return sender.sent.size() >= window;
    });
    act.steps.push_back({"poll", buffers(window - std::min<std::size_t>(peer.received.size(), window), window, 'r'),
                         fmt::format("{} done; the peer is busy and posts no more", sender.sent.size())});
    bench->wait([&] {
        sender.poll();
        return sender.sent.size() == 2 * window;
    });
    std::size_t flushed = 0;
    const wire::Completion* failure = nullptr;
    for (const wire::Completion& each : sender.sent) {
        if (each.status == wire::CompletionStatus::flushed) ++flushed;
        if (failure == nullptr && each.status != wire::CompletionStatus::success) failure = &each;
    }
    act.succeeded = failure == nullptr && sender.sent.size() == 2 * window;
    if (failure != nullptr) {
        act.steps.push_back({"poll", buffers(0, window, 'r'), verbena::describe(failure->cause), true});
        act.steps.push_back(
            {"poll", buffers(0, window, 'r'),
             fmt::format("{} flushed; queue pair {}", flushed, name(sender.queue_pair().describe().state)), true});
    } else {
        act.steps.push_back(
            {"poll", buffers(0, window, 'r'), fmt::format("{} of {} done", sender.sent.size(), 2 * window)});
    }
    act.outcome = failure != nullptr ? "the connection is over because the receiver was slow for a moment"
                  : act.succeeded    ? "the provider kept the messages until there was a receive"
                                     : "the sends that found no receive wait";
    return act;
}

Act verbena(const Stage& stage) {
    const auto bench = stage.bench();
    const std::uint32_t window = stage.depth;
    msg::EngineOptions options;
    options.send_depth = 2 * window;
    options.receive_window = window;
    options.inline_limit = 0;
    options.unexpected_limit = 0; // what nobody asked for stays in its receive buffer: the receiver is slow indeed
    Ranks ranks(*bench, options);

    Act act{"verbena",
            fmt::format("{} sends to a rank with a window of {}", 2 * window, window),
            "c credit of the sender, . none",
            {},
            {},
            false};
    const auto draw = [&] { return buffers(ranks[0].describe(1).credits, window, 'c'); };
    act.steps.push_back({"connect", draw(), fmt::format("{} credits: so many buffers are posted for us", window)});
    std::vector<std::uint64_t> numbers(2 * window);
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = i;
        ranks[0].release(ranks[0].send(1, 0, 0, std::as_bytes(std::span(numbers).subspan(i, 1))));
    }
    (void)ranks.run_until([&] { return ranks[1].describe(0).messages_received >= window; });
    const ChannelInfo full = ranks[0].describe(1);
    act.steps.push_back(
        {fmt::format("send {}", 2 * window), draw(),
         fmt::format("{} are sent, {} wait for: {}", full.messages_sent, full.queued, full.waiting_for)});
    std::vector<std::uint64_t> got(numbers.size());
    std::vector<msg::OperationId> receives;
    for (std::size_t i = 0; i < got.size(); ++i) {
        receives.push_back(ranks[1].receive(0, 0, 0, std::as_writable_bytes(std::span(got).subspan(i, 1))));
    }
    act.steps.push_back(
        {fmt::format("rank 1 receives {}", got.size()), draw(), "buffers are posted again, then granted"});
    const bool done = ranks.run_until([&] { return ranks[1].is_complete(receives.back()); });
    act.steps.push_back({"progress", draw(), fmt::format("rank 1 has {} of {}", done ? got.size() : 0, got.size())});
    const Notes& notes = bench->device(0).notes();
    act.succeeded = done && got == numbers && notes.failed == 0;
    act.outcome = fmt::format("all arrive in order; {} completions failed", notes.failed);
    return act;
}

} // namespace

void play_rnr(const Stage& stage, Report& report) {
    report.acts = {raw_verbs(stage), verbena(stage)};
    report.rule =
        "A message leaves only when the peer has a buffer posted for it: receive credits, granted after the buffer is "
        "posted again. Receiver-not-ready cannot happen, so rnr_retry is finite and would show a fault of verbena.";
}

} // namespace verbena::lab
