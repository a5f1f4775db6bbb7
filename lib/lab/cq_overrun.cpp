/// A completion queue with room for the completions that were asked for, and an error that completes all.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "flow/credit_window.hpp"
#include "lab/scenario.hpp"
#include "msg/header.hpp"

namespace verbena::lab {
namespace {

bool sees_queue_error(Bench& bench) {
    bool seen = false;
    bench.wait([&] {
        std::array<wire::AsyncEvent, 8> events;
        const std::size_t count = bench.device(0).poll_async(events);
        for (const wire::AsyncEvent& event : std::span(events).first(count)) {
            seen = seen || event.kind == wire::AsyncEventKind::completion_queue_error;
        }
        return seen;
    });
    return seen;
}

std::string entries(std::size_t used, std::size_t capacity, char mark) {
    std::string marks(std::min(used, capacity), mark);
    marks.resize(capacity, '.');
    return fit(marks);
}

Act raw_verbs(const Stage& stage) {
    const auto bench = stage.bench();
    wire::QueuePairOptions options;
    options.send_depth = stage.depth;
    options.receive_depth = 1;
    options.rnr_retry = 7; // for ever: the sends stay on their way
    const std::uint32_t interval = std::max(stage.depth / 4, 1u);
    const std::uint32_t expected = stage.depth / interval;
    RawEnd sender(bench->device(0), options, expected);
    RawEnd peer(bench->device(1), options, expected);
    RawEnd::connect(sender, peer);
    const std::uint32_t capacity = sender.send_queue().capacity();

    Act act{"raw verbs", "a completion queue with room for every signaled send", "c completion, . free", {}, {}, false};
    act.steps.push_back(
        {fmt::format("make a queue for {}", expected), entries(0, capacity, 'c'), fmt::format("{} granted", capacity)});
    std::uint32_t posted = 0;
    while (posted < stage.depth) {
        const bool signaled = (posted + 1) % interval == 0;
        if (sender.post(wire::Opcode::send, signaled ? wire::signaled : 0).accepted == 0) break;
        ++posted;
    }
    act.steps.push_back({fmt::format("post {} sends", posted), entries(0, capacity, 'c'),
                         fmt::format("every {}th signaled", interval)});
    sender.queue_pair().fail();
    std::size_t polled = 0;
    bench->wait([&] { // a program that looks once everything has happened
        if (bench->is_simulated()) return false;
        sender.poll();
        polled = sender.sent.size();
        return polled == posted;
    });
    act.steps.push_back(
        {"queue pair to ERR", entries(posted, capacity, 'c'), fmt::format("all {} complete, signaled or not", posted)});
    sender.poll();
    polled = sender.sent.size();
    act.succeeded = polled == posted;
    act.steps.push_back({"poll", entries(0, capacity, 'c'),
                         act.succeeded ? fmt::format("{} completions", polled)
                                       : fmt::format("{} completions; {} are lost", polled, posted - polled),
                         !act.succeeded});
    if (sees_queue_error(*bench)) {
        act.steps.push_back(
            {"read the async event", entries(0, capacity, 'c'), "IBV_EVENT_CQ_ERR: the queue is dead", true});
    }
    act.outcome =
        act.succeeded ? "every completion comes" : "completions are lost in silence; who waits for one waits for ever";
    return act;
}

Act verbena(const Stage& stage) {
    const auto bench = stage.bench();
    msg::EngineOptions options;
    options.send_depth = stage.depth;
    options.receive_window = stage.depth;
    options.inline_limit = 0;
    Ranks ranks(*bench, options);
    Notes& notes = bench->device(0).notes();
    const std::uint32_t receives = stage.depth + msg::max_rendezvous + flow::CreditWindow::spare_buffers;
    const std::uint32_t reserved = stage.depth + receives;

    Act act{"verbena", "an entry for every request that can be posted", "r reserved, . free", {}, {}, false};
    const auto draw = [&] { return entries(reserved, notes.completion_entries, 'r'); };
    act.steps.push_back({"connect", draw(),
                         fmt::format("{} sends + {} receives: {} of {} entries", stage.depth, receives, reserved,
                                     notes.completion_entries)});
    const std::uint64_t number = 1;
    for (std::uint32_t i = 0; i < stage.depth; ++i) {
        ranks[0].release(ranks[0].send(1, 0, 0, std::as_bytes(std::span(&number, 1))));
    }
    const msg::OperationId flush = ranks[0].flush(1);
    act.steps.push_back(
        {fmt::format("send {}, and flush", stage.depth), draw(), fmt::format("{} posted", notes.sends.posted_count())});
    Status lost;
    lost.code = ErrorCode::peer_lost;
    lost.scope = Scope::channel;
    ranks[0].fail_peer(1, lost, "rank 1 is lost");
    act.steps.push_back({"queue pair to ERR", draw(), "all complete, signaled or not"});
    (void)ranks.run_until([&] { return false; });
    act.steps.push_back(
        {"progress", draw(), fmt::format("{} completions flushed, {} failed", notes.flushed, notes.failed)});
    const Status ended = ranks[0].status(flush);
    act.steps.push_back({"read the status", draw(), verbena::describe(ended)});
    const std::uint64_t missing = notes.sends.taken() + notes.receives_posted - notes.receives_completed;
    act.succeeded = missing == 0 && !sees_queue_error(*bench) && ranks[0].is_complete(flush);
    act.outcome = fmt::format("{} completions are missing; the flush ended with {}, and one root cause is kept",
                              missing, verbena::name(ended.code));
    return act;
}

} // namespace

void play_cq_overrun(const Stage& stage, Report& report) {
    report.acts = {raw_verbs(stage), verbena(stage)};
    report.rule =
        "An error or a flush completes every request, signaled or not, and an overrun is silent when polling. So "
        "verbena reserves an entry for each request that can be posted before a queue pair is made, and makes "
        "another completion queue where one is full.";
}

} // namespace verbena::lab
