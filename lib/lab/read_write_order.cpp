/// READ a place, then WRITE it: which bytes does the READ bring?
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "lab/scenario.hpp"

namespace verbena::lab {
namespace {

constexpr const char* legend = "a round each: . the old bytes, x the new ones";

Act raw_verbs(const Stage& stage, bool fenced) {
    const auto bench = stage.bench();
    wire::QueuePairOptions options;
    options.send_depth = 2;
    options.receive_depth = 1;
    RawEnd near(bench->device(0), options, 2);
    RawEnd far(bench->device(1), options, 2);
    RawEnd::connect(near, far);
    Act act{fenced ? "raw verbs, fenced" : "raw verbs",
            fenced ? "the same, the WRITE with IBV_SEND_FENCE" : "READ 8 bytes, then WRITE 8 others to the same place",
            legend,
            {},
            {},
            false};
    std::string rounds;
    for (std::uint64_t round = 1; round <= stage.depth; ++round) {
        const std::uint64_t fresh = ~round;
        std::memcpy(far.memory().data(), &round, 8);
        std::memcpy(near.memory().data() + 8, &fresh, 8);
        near.sent.clear();
        (void)near.post(wire::Opcode::rdma_read, wire::signaled, 0, &far);
        const auto flags = static_cast<std::uint8_t>(wire::signaled | (fenced ? wire::fence : 0));
        (void)near.post(wire::Opcode::rdma_write, flags, 8, &far);
        bench->wait([&] {
            near.poll();
            far.poll();
            return near.sent.size() == 2;
        });
        std::uint64_t fetched = 0;
        std::memcpy(&fetched, near.memory().data(), 8);
        rounds += fetched == round ? '.' : 'x';
    }
    const auto overtaken = std::ranges::count(rounds, 'x');
    act.succeeded = overtaken == 0;
    act.steps.push_back({fmt::format("{} rounds", stage.depth), fit(rounds),
                         fmt::format("{} brought the new bytes", overtaken), overtaken > 0});
    act.outcome = overtaken > 0 ? "a READ that was posted first brings what the WRITE behind it wrote"
                                : "every READ brings the bytes from before the WRITE";
    return act;
}

Act verbena(const Stage& stage) {
    const auto bench = stage.bench();
    msg::EngineOptions options;
    Ranks ranks(*bench, options);
    Act act{"verbena", "a large message is fetched by READ; its owner overwrites it as soon as the send is complete",
            legend,    {},
            {},        false};
    std::vector<std::byte> source(64 * 1024);
    std::vector<std::byte> target(source.size());
    std::string rounds;
    bool all_done = true;
    for (std::uint32_t round = 0; round < stage.depth && all_done; ++round) {
        const auto old = static_cast<std::byte>(round);
        std::ranges::fill(source, old);
        const msg::OperationId receive = ranks[1].receive(0, 0, 0, target);
        const msg::OperationId send = ranks[0].send(1, 0, 0, source);
        all_done = ranks.run_until([&] { return ranks[0].is_complete(send); });
        std::ranges::fill(source, ~old);
        all_done = ranks.run_until([&] { return ranks[1].is_complete(receive); }) && all_done;
        rounds += std::ranges::all_of(target, [&](std::byte byte) { return byte == old; }) ? '.' : 'x';
        ranks[0].release(send);
        ranks[1].release(receive);
    }
    const auto overtaken = std::ranges::count(rounds, 'x');
    act.succeeded = all_done && overtaken == 0;
    act.steps.push_back({fmt::format("{} rounds", rounds.size()), fit(rounds),
                         fmt::format("{} brought the new bytes", overtaken), overtaken > 0});
    act.outcome =
        act.succeeded ? "every message holds the bytes that were sent" : "a message was overwritten on its way";
    return act;
}

} // namespace

void play_read_write_order(const Stage& stage, Report& report) {
    report.acts = {raw_verbs(stage, false), raw_verbs(stage, true), verbena(stage)};
    report.rule =
        "One queue pair executes in order, but a READ may take effect after later WRITEs unless those carry a fence "
        "(IBTA 9.5). verbena never lets a buffer go before the READ's completion has been polled.";
}

} // namespace verbena::lab
