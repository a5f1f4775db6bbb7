#include "lab/lab.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "lab/scenario.hpp"

namespace verbena::lab {
namespace {

struct Entry {
    ScenarioInfo info;
    std::uint32_t least_depth;
    std::uint32_t most_depth;
    Play play;
};

constexpr std::array entries = {
    Entry{{"sq-exhaustion", "the send queue is full although the peer has everything", "slots of the send queue", 32},
          1,
          4096,
          play_sq_exhaustion},
    Entry{{"cq-overrun", "an error completes more requests than the completion queue holds", "slots of the send queue",
           32},
          8,
          4096,
          play_cq_overrun},
    Entry{{"rnr", "the receiver is slow for a moment, and the connection is over", "receives that the peer has posted",
           4},
          1,
          1024,
          play_rnr},
    Entry{{"read-write-order", "a WRITE overtakes the READ before it", "rounds", 32}, 1, 4096, play_read_write_order},
    Entry{{"credit-starvation", "both ends have data and buffers, and wait for each other for ever",
           "credits of each end", 4},
          1,
          1024,
          play_credit_starvation},
};

const Entry& entry_of(const std::string& name) {
    const auto* const found = std::ranges::find(entries, name, [](const Entry& entry) { return entry.info.name; });
    if (found != entries.end()) return *found;
    std::string names;
    for (const Entry& entry : entries) names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.info.name);
    throw Error(ErrorCode::invalid_argument, fmt::format("no scenario is called \"{}\"", name), "there are: " + names);
}

Report play_on(const Entry& entry, const Request& request, std::uint32_t depth, const OpenDevice& open) {
    Report report;
    report.scenario = entry.info.name;
    report.title = entry.info.title;
    report.depth = depth;
    report.seed = open ? 0 : request.seed;
    const auto bench = [&] { return open ? std::make_unique<Bench>(open) : std::make_unique<Bench>(request.seed); };
    report.device = bench()->device(0).describe();
    entry.play({bench, depth}, report);
    return report;
}

std::string slots_come_back(wire::Retirement retirement) {
    switch (retirement) {
    case wire::Retirement::at_execution:
        return "this provider frees a slot when the request executes, signaled or not: a pass here proves nothing "
               "about "
               "signaling";
    case wire::Retirement::through_completion:
        return "this provider frees slots with a polled completion, as the model does";
    case wire::Retirement::each_completion:
        return "this provider takes no unsignaled requests, and each completion frees its own slot";
    }
    return "";
}

void compare(Report& real, const Report& model, const OpenDevice& open) {
    for (std::size_t i = 0; i < real.acts.size(); ++i) {
        if (real.acts[i].succeeded == model.acts[i].succeeded) continue;
        real.differences.push_back(fmt::format("{}: {} here; on the model {} {}", real.acts[i].program,
                                               real.acts[i].outcome, model.device, model.acts[i].outcome));
    }
    if (!real.differences.empty() && real.scenario == "sq-exhaustion") {
        real.differences.push_back(slots_come_back(open()->accounting().retirement));
    }
}

} // namespace

std::span<const ScenarioInfo> scenarios() noexcept {
    static const auto infos = [] {
        std::array<ScenarioInfo, entries.size()> all{};
        std::ranges::transform(entries, all.begin(), &Entry::info);
        return all;
    }();
    return infos;
}

std::string refusal_text(const wire::PostResult& result) {
    return fmt::format("refused: {}", verbena::describe(Cause{Origin::system_errno, result.native_errno, 0}));
}

Report play(const Request& request, const OpenDevice& open) {
    const Entry& entry = entry_of(request.scenario);
    const std::uint32_t depth = request.depth == 0 ? entry.info.default_depth : request.depth;
    if (depth < entry.least_depth || depth > entry.most_depth) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: a depth of {} is outside {} to {}", entry.info.name,
                                                             depth, entry.least_depth, entry.most_depth));
    }
    if (!open) return play_on(entry, request, depth, {});
    Report real = play_on(entry, request, depth, open);
    compare(real, play_on(entry, request, depth, {}), open);
    return real;
}

} // namespace verbena::lab
