/// Groups are made of groups.
#include <algorithm>
#include <chrono>
#include <tuple>

#include <fmt/format.h>
#include <verbena/group.hpp>

#include "api/group_core.hpp"
#include "api/runtime_core.hpp"
#include "coll/shrink.hpp"

namespace verbena {
namespace {

/// What a rank says in a split.
struct Place {
    std::int64_t colour = 0;
    std::int64_t key = 0;
    std::uint64_t free_context = 0;
};

coll::Collectives& open(detail::GroupCore& group, const char* what) {
    if (group.collectives) return *group.collectives;
    throw Error(ErrorCode::cancelled, fmt::format("{}: this runtime was closed", what));
}

/// Waits for the operation and frees it. @throws Error timed_out with `absent()` as the sentence, or what it ended
/// with.
template <class Absent>
void finish(detail::RuntimeCore& runtime, msg::OperationId id, const char* what, Absent absent) {
    const bool in_time = runtime.wait(id, detail::RuntimeCore::Clock::now() + runtime.operation_timeout);
    Status status;
    {
        const detail::Gate::Pass pass = runtime.gate->enter();
        status = runtime.engine->status(id);
        runtime.engine->release(id);
    }
    if (!in_time) throw Error(ErrorCode::timed_out, fmt::format("{}: {}", what, absent()));
    if (!status.ok()) throw Error(status.code, fmt::format("{}: {}", what, describe(status)), {}, status.cause);
}

} // namespace

namespace detail {

std::shared_ptr<GroupCore> add_group(RuntimeCore& core, coll::Members members, msg::Context context) {
    if (context >= coll::notice_context_bit) {
        throw Error(ErrorCode::exhausted, "this job has made as many groups as messages can tell apart",
                    "keep groups and use them again");
    }
    auto group = std::make_shared<GroupCore>(GroupCore{
        &core, std::make_unique<coll::Collectives>(*core.engine, context, members, core.collective_timeout), members});
    core.groups.push_back(group);
    core.free_context = std::max<msg::Context>(core.free_context, context + 1);
    return group;
}

} // namespace detail

std::optional<Group> Group::split(std::int64_t colour, std::int64_t key) {
    coll::Collectives& parent = open(*core_, "split");
    detail::RuntimeCore& runtime = *core_->runtime;
    const std::uint32_t ranks = size();
    detail::Gate::Pass pass = runtime.gate->enter();
    const Place mine{colour, key, runtime.free_context};
    std::vector<Place> all(ranks);
    const msg::OperationId id = parent.start(
        {.collective = Collective::all_gather, .input = &mine, .output = all.data(), .count = sizeof mine});
    pass = {}; // others may call while this one waits
    try {
        finish(runtime, id, "split", [] { return "not every rank of the group called it"; });
    } catch (const Error& error) {
        if (failure().empty()) throw;
        throw Error(error.code(), fmt::format("split: {}", failure()), error.advice(), error.cause());
    }
    std::uint64_t context = 0;
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        context = std::max(context, all[rank].free_context);
        if (all[rank].colour == colour) chosen.push_back(rank);
    }
    pass = runtime.gate->enter();
    runtime.free_context = static_cast<msg::Context>(std::min<std::uint64_t>(context + 1, coll::notice_context_bit));
    if (colour < 0) return std::nullopt;
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::uint32_t one, std::uint32_t other) { return all[one].key < all[other].key; });
    const auto own = static_cast<std::uint32_t>(std::find(chosen.begin(), chosen.end(), rank()) - chosen.begin());
    for (std::uint32_t& rank : chosen) rank = core_->members.job_rank(rank);
    // Groups of one split may have one context: no rank is in two of them.
    return Group(add_group(runtime, {std::move(chosen), own}, static_cast<msg::Context>(context)));
}

Group Group::shrink() {
    const msg::Context context = open(*core_, "shrink").context();
    detail::RuntimeCore& runtime = *core_->runtime;
    const auto survivors = std::make_shared<coll::Survivors>();
    detail::Gate::Pass pass = runtime.gate->enter();
    const msg::OperationId id = runtime.engine->start(
        std::make_unique<coll::ShrinkTask>(core_->members, context, core_->shrinks++, runtime.free_context, survivors));
    pass = {};
    finish(runtime, id, "shrink", [&] {
        return survivors->awaited.empty() ? std::string("the ranks do not agree")
                                          : fmt::format("rank {} does not come", survivors->awaited.front());
    });
    pass = runtime.gate->enter();
    const std::uint32_t self = runtime.job.rank;
    const auto own = std::find(survivors->job_ranks.begin(), survivors->job_ranks.end(), self);
    return Group(add_group(runtime,
                           {survivors->job_ranks, static_cast<std::uint32_t>(own - survivors->job_ranks.begin())},
                           survivors->context));
}

} // namespace verbena
