#include <verbena/order_check.hpp>

#include <algorithm>
#include <istream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <verbena/error.hpp>

#include "order/hazard_tracker.hpp"

namespace verbena {
namespace {

using nlohmann::json;
using order::By;
using order::Kind;
using order::Range;
using order::Relation;
using order::Touch;

struct Unfinished {
    std::uint64_t number = 0;
    std::string what;
    Touch touch;
    bool is_fenced_off = false; ///< a later operation to its peer carried a fence: what is posted now comes behind it
};

Range range_of(const json& value) { return {value.at(0).get<std::uint64_t>(), value.at(1).get<std::uint64_t>()}; }

Touch touch_of(const json& event, const std::string& kind) {
    Touch touch;
    touch.peer = event.at("peer").get<std::uint32_t>();
    touch.kind = kind == "put" ? Kind::write : kind == "get" ? Kind::read : Kind::atomic;
    const auto by = event.at("by").get<std::string>();
    touch.by = by == "wire" ? By::wire : by == "copied" ? By::copied : By::engine;
    touch.loops = event.at("loops").get<bool>();
    touch.remote = range_of(event.at("remote"));
    touch.signal = range_of(event.at("signal"));
    touch.local = range_of(event.at("local"));
    return touch;
}

Range common(const Range& a, const Range& b) {
    if (!a.overlaps(b)) return {};
    const std::uint64_t begin = std::max(a.begin, b.begin);
    return {begin, std::min(a.begin + a.length, b.begin + b.length) - begin};
}

OrderConflict conflict(const Unfinished& earlier, const Unfinished& later, Relation relation) {
    OrderConflict found;
    found.earlier = earlier.number;
    found.later = later.number;
    found.earlier_what = earlier.what;
    found.later_what = later.what;
    found.peer = later.touch.peer;
    Range where;
    if (earlier.touch.peer == later.touch.peer) {
        for (const Range& a : {earlier.touch.remote, earlier.touch.signal}) {
            for (const Range& b : {later.touch.remote, later.touch.signal}) {
                if (where.length == 0) where = common(a, b);
            }
        }
    }
    found.at_peer = where.length > 0;
    if (!found.at_peer) where = common(earlier.touch.local, later.touch.local);
    found.address = where.begin;
    found.bytes = where.length;
    found.remedy = relation == Relation::fence || found.at_peer
                       ? fmt::format("fence() on the endpoint of rank {} before operation {}", found.peer, found.later)
                       : fmt::format("wait for operation {} before operation {}", found.earlier, found.later);
    return found;
}

/// A fence flag holds its operation, and all behind it, until READs and atomics of that peer are complete.
void note_fence(std::vector<Unfinished>& unfinished, std::uint32_t peer) {
    for (Unfinished& earlier : unfinished) {
        if (earlier.touch.peer == peer && earlier.touch.changes_local() && !earlier.touch.loops) {
            earlier.is_fenced_off = true;
        }
    }
}

} // namespace

OrderReport check_order(std::istream& trace) {
    OrderReport report;
    order::Rules rules = order::reliable_connection;
    std::vector<Unfinished> unfinished;
    std::string line;
    for (std::uint64_t number = 1; std::getline(trace, line); ++number) {
        try {
            const json event = json::parse(line);
            if (number == 1) {
                if (event.at("verbena_order_trace").get<int>() != 1) throw Error(ErrorCode::protocol_violation, "");
                report.rank = event.at("rank").get<std::uint32_t>();
                wire::Capabilities capabilities;
                capabilities.ordered_writes = event.at("ordered_writes").get<bool>();
                capabilities.native_fence = event.at("native_fence").get<bool>();
                rules = order::rules_of(capabilities);
                continue;
            }
            const auto operation = event.at("operation").get<std::uint64_t>();
            if (event.at("event").get<std::string>() == "done") {
                std::erase_if(unfinished, [&](const Unfinished& each) { return each.number == operation; });
                continue;
            }
            const auto kind = event.at("kind").get<std::string>();
            Unfinished later{operation, kind, touch_of(event, kind)};
            later.what = later.touch.kind == Kind::atomic
                             ? kind
                             : fmt::format("{} of {} bytes", kind, later.touch.remote.length);
            ++report.operations;
            if (event.at("fenced").get<bool>()) {
                ++report.fences;
                note_fence(unfinished, later.touch.peer);
            }
            for (const Unfinished& earlier : unfinished) {
                const Relation relation = order::between(rules, earlier.touch, later.touch, false);
                const bool is_fenced = relation == Relation::fence && earlier.is_fenced_off;
                if (relation != Relation::ordered && !is_fenced) {
                    report.conflicts.push_back(conflict(earlier, later, relation));
                }
            }
            if (later.touch.kind == Kind::write && later.touch.by == By::copied) later.touch.local = {}; // free again
            unfinished.push_back(std::move(later));
        } catch (const std::exception&) {
            throw Error(ErrorCode::protocol_violation, fmt::format("line {} is none of an order trace", number),
                        "record one with the setting order-trace; a program that was killed leaves its last line cut");
        }
    }
    return report;
}

} // namespace verbena
