/// A send queue that is full although the peer has everything.
#include <algorithm>

#include <fmt/format.h>

#include "lab/scenario.hpp"

namespace verbena::lab {
namespace {

constexpr const char* legend = "u unsignaled, s signaled, . free";

/// Never more than half the queue that the peer has not received: as careful as a program can be that looks at its
/// peer.
std::uint32_t half(std::uint32_t depth) { return (depth + 1) / 2; }

Act raw_verbs(const Stage& stage) {
    const auto bench = stage.bench();
    wire::QueuePairOptions options;
    options.send_depth = stage.depth;
    options.receive_depth = 2 * stage.depth + 1;
    RawEnd sender(bench->device(0), options, stage.depth);
    RawEnd peer(bench->device(1), options, stage.depth);
    RawEnd::connect(sender, peer);
    const std::uint32_t depth = sender.queue_pair().granted().send_depth;
    peer.post_receives(std::min(2 * depth + 1, peer.queue_pair().granted().receive_depth));
    const std::uint32_t at_once = half(depth);

    Act act{"raw verbs", fmt::format("sends without IBV_SEND_SIGNALED, never more than {} on their way", at_once),
            legend,      {},
            {},          false};
    const auto draw = [&] { return fit(sender.notes().sends.draw()); };
    std::uint32_t posted = 0;
    while (posted < depth) {
        const std::uint32_t count = std::min(at_once, depth - posted);
        for (std::uint32_t i = 0; i < count; ++i) (void)sender.post(wire::Opcode::send);
        posted += count;
        act.steps.push_back({fmt::format("post {} sends", count), draw(), "taken"});
        bench->wait([&] {
            peer.poll();
            return peer.received.size() >= posted;
        });
        act.steps.push_back(
            {"the peer receives", draw(), fmt::format("it has {} of {}", peer.received.size(), posted)});
    }
    sender.poll();
    act.steps.push_back({"poll", draw(), fmt::format("{} completions", sender.sent.size())});
    const wire::PostResult result = sender.post(wire::Opcode::send);
    act.succeeded = result.accepted == 1;
    act.steps.push_back({fmt::format("post send {}", posted + 1), draw(),
                         act.succeeded ? "taken" : refusal_text(result), !act.succeeded});
    act.outcome = act.succeeded ? fmt::format("send {} is taken", posted + 1)
                                : fmt::format("send {} is refused for want of a slot, though the peer has all {}",
                                              posted + 1, peer.received.size());
    return act;
}

Act verbena(const Stage& stage) {
    const auto bench = stage.bench();
    msg::EngineOptions options;
    options.send_depth = stage.depth;
    options.receive_window = half(stage.depth);
    options.inline_limit = 0;
    Ranks ranks(*bench, options);
    const std::uint32_t at_once = half(stage.depth);
    const std::uint32_t many = 10 * stage.depth;
    const auto draw = [&] { return fit(bench->device(0).notes().sends.draw()); };

    Act act{"verbena", "the same sends; the ledger says which must be signaled", legend, {}, {}, false};
    std::vector<std::uint64_t> got(2 * at_once + many);
    std::vector<std::uint64_t> numbers(got.size());
    std::vector<msg::OperationId> receives;
    for (std::size_t i = 0; i < got.size(); ++i) {
        numbers[i] = i;
        receives.push_back(ranks[1].receive(0, 0, 0, std::as_writable_bytes(std::span(got).subspan(i, 1))));
    }
    std::size_t sent = 0;
    const auto send = [&](std::uint32_t count) {
        for (; count > 0; --count, ++sent) {
            ranks[0].release(ranks[0].send(1, 0, 0, std::as_bytes(std::span(numbers).subspan(sent, 1))));
        }
    };
    const auto arrived = [&] {
        std::size_t count = 0;
        while (count < receives.size() && ranks[1].is_complete(receives[count])) ++count;
        return count;
    };
    for (int round = 0; round < 2; ++round) {
        send(at_once);
        act.steps.push_back({fmt::format("send {}", at_once), draw(), "taken"});
        (void)ranks.run_until([&] { return arrived() == sent && bench->device(0).notes().sends.taken() < at_once; });
        act.steps.push_back({"rank 1 receives", draw(), fmt::format("it has {} of {}", arrived(), sent)});
    }
    send(many);
    const ChannelInfo full = ranks[0].describe(1);
    act.steps.push_back({fmt::format("send {} more at once", many), draw(),
                         full.queued == 0 ? "taken" : fmt::format("{} wait for: {}", full.queued, full.waiting_for)});
    act.succeeded = ranks.run_until([&] { return arrived() == sent; }) && got == numbers;
    const Notes& notes = bench->device(0).notes();
    act.steps.push_back({"progress", draw(), fmt::format("rank 1 has {} of {}", arrived(), sent)});
    act.outcome = fmt::format("{} of {} arrive in order; {} posts refused; {} of {} requests signaled", arrived(), sent,
                              notes.refused, notes.sends.signaled_count(), notes.sends.posted_count());
    act.succeeded = act.succeeded && notes.refused == 0;
    return act;
}

} // namespace

void play_sq_exhaustion(const Stage& stage, Report& report) {
    report.acts = {raw_verbs(stage), verbena(stage)};
    report.rule =
        "A slot is free when a completion at or after it is polled, whatever the peer has. So verbena counts posted "
        "minus retired against the depth that was granted, and signals often enough that a full queue always "
        "holds a signaled request.";
}

} // namespace verbena::lab
