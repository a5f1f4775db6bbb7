/// Two ends that have used up their credits, and a grant that would need one.
#include <algorithm>

#include <fmt/format.h>

#include "lab/scenario.hpp"

namespace verbena::lab {
namespace {

constexpr const char* legend = "c credit, . none";

std::string credits(std::size_t of_a, std::size_t of_b, std::size_t window) {
    const auto one = [&](std::size_t count) { return std::string(count, 'c') + std::string(window - count, '.'); };
    return one(std::min(of_a, window)) + " " + one(std::min(of_b, window));
}

/// What many programs do: a message needs a credit, and a grant is a message.
struct NaiveEnd {
    RawEnd& end;
    std::uint32_t credits;
    std::uint32_t to_grant = 0;

    bool send() {
        if (credits == 0) return false;
        --credits;
        return end.post(wire::Opcode::send, wire::signaled).accepted == 1;
    }
    void receive_all() {
        end.poll();
        end.post_receives(static_cast<std::uint32_t>(end.received.size()));
        to_grant += static_cast<std::uint32_t>(end.received.size());
        end.received.clear();
    }
};

Act raw_verbs(const Stage& stage) {
    const auto bench = stage.bench();
    const std::uint32_t window = stage.depth;
    wire::QueuePairOptions options;
    options.send_depth = 2 * window;
    options.receive_depth = window;
    RawEnd first(bench->device(0), options, 2 * window);
    RawEnd second(bench->device(1), options, 2 * window);
    RawEnd::connect(first, second);
    first.post_receives(window);
    second.post_receives(window);
    NaiveEnd a{first, window};
    NaiveEnd b{second, window};
    const auto draw = [&] { return credits(a.credits, b.credits, window); };

    Act act{"raw verbs", "both ends send; a credit is granted by a message, and a message needs a credit",
            legend,      {},
            {},          false};
    act.steps.push_back({"connect", draw(), fmt::format("{} receives posted at each end", window)});
    while (a.send() && b.send()) {
    }
    while (b.send()) {
    }
    act.steps.push_back({fmt::format("both send {}", window), draw(), "all credits are used"});
    bench->wait([&] {
        a.receive_all();
        b.receive_all();
        return a.to_grant >= window && b.to_grant >= window;
    });
    act.steps.push_back(
        {"both receive", draw(), fmt::format("{} and {} buffers posted again", a.to_grant, b.to_grant)});
    const bool granted = a.send() || b.send();
    act.steps.push_back({"both grant", draw(), granted ? "sent" : "a grant needs a credit: it waits", !granted});
    const std::size_t before = first.received.size() + second.received.size();
    bench->wait([&] {
        first.poll();
        second.poll();
        return false;
    });
    const bool moved = first.received.size() + second.received.size() > before;
    act.succeeded = granted && moved;
    act.steps.push_back(
        {"wait", draw(), moved ? "messages arrive" : "nothing is on its way, nothing ever will be", !moved});
    act.outcome =
        act.succeeded ? "a grant goes through" : "both ends have buffers and data, and wait for each other for ever";
    return act;
}

Act verbena(const Stage& stage) {
    const auto bench = stage.bench();
    const std::uint32_t window = stage.depth;
    msg::EngineOptions options;
    options.send_depth = 2 * window;
    options.receive_window = window;
    options.inline_limit = 0;
    Ranks ranks(*bench, options);
    const auto draw = [&] { return credits(ranks[0].describe(1).credits, ranks[1].describe(0).credits, window); };

    Act act{"verbena", "the same traffic; grants ride on messages, and one spare buffer takes a grant alone",
            legend,    {},
            {},        false};
    act.steps.push_back({"connect", draw(), fmt::format("{} buffers and 1 spare posted at each end", window)});
    const std::uint32_t many = 25 * window;
    std::vector<std::uint64_t> got(2 * many);
    const std::uint64_t number = 7;
    std::vector<msg::OperationId> receives[2];
    for (std::uint32_t i = 0; i < many; ++i) {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            ranks[rank].release(ranks[rank].send(1 - rank, 0, 0, std::as_bytes(std::span(&number, 1))));
        }
    }
    const ChannelInfo full = ranks[0].describe(1);
    act.steps.push_back({fmt::format("both send {}", many), draw(),
                         fmt::format("{} each wait for: {}", full.queued, full.waiting_for)});
    for (std::uint32_t i = 0; i < many; ++i) {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            receives[rank].push_back(ranks[rank].receive(
                1 - rank, 0, 0, std::as_writable_bytes(std::span(got).subspan(rank * many + i, 1))));
        }
    }
    act.succeeded = ranks.run_until(
        [&] { return ranks[0].is_complete(receives[0].back()) && ranks[1].is_complete(receives[1].back()); });
    act.succeeded = act.succeeded && std::ranges::count(got, number) == static_cast<std::ptrdiff_t>(got.size());
    const std::uint64_t grants = bench->device(0).notes().bare_grants + bench->device(1).notes().bare_grants;
    act.steps.push_back(
        {"both receive", draw(), fmt::format("{} of {} messages arrive", std::ranges::count(got, number), got.size())});
    act.outcome = fmt::format("nobody starves; {} messages carried a grant alone", grants);
    return act;
}

} // namespace

void play_credit_starvation(const Stage& stage, Report& report) {
    report.acts = {raw_verbs(stage), verbena(stage)};
    report.rule =
        "A grant rides on whatever message goes the other way. Only where the sender could run dry does it go alone, "
        "into a buffer that is kept for it and takes no credit. Any window from 1 up works.";
}

} // namespace verbena::lab
