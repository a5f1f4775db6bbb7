#include "coll/plan_file.hpp"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <verbena/error.hpp>

#include "coll/extent.hpp"
#include "coll/interpreter.hpp"
#include "coll/selection.hpp"

namespace verbena::coll {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;
/// Keeps offsets, however they are added or multiplied, far from the end of 64 bits.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 40;
constexpr std::uint64_t most_ranks = 512; ///< the proof keeps something for every pair

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "the plan cannot be used: " + what, "docs/plan-format.md describes plans");
}

std::uint64_t number(const Json& object, const std::string& key, std::uint64_t most, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) refuse(fmt::format("{} has no \"{}\"", where, key));
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most)
        refuse(fmt::format("\"{}\" of {} is no whole number from 0 to {}", key, where, most));
    return found->get<std::uint64_t>();
}

Range range(const Json& object, const std::string& key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) refuse(fmt::format("{} has no \"{}\"", where, key));
    const Json& value = *found;
    if (value.is_array() && value.size() == 3 && value[0].is_string() && value[1].is_number_unsigned() &&
        value[2].is_number_unsigned()) {
        for (const Buffer buffer : {Buffer::input, Buffer::output, Buffer::scratch}) {
            const Range read{buffer, value[1].get<std::uint64_t>(), value[2].get<std::uint64_t>()};
            if (value[0].get<std::string>() == name(buffer) && read.offset <= most_elements &&
                read.count <= most_elements) {
                return read;
            }
        }
    }
    refuse(fmt::format("\"{}\" of {} is no range such as [\"input\", 0, 16]", key, where));
}

Step step(const Json& object, const std::string& where) {
    if (!object.is_object()) refuse(where + " is no object");
    Step read;
    const auto peer = [&](const char* key) {
        read.peer = static_cast<std::uint32_t>(number(object, key, std::numeric_limits<std::uint32_t>::max(), where));
    };
    if (object.contains("send")) {
        read.kind = StepKind::send;
        read.left = range(object, "send", where);
        peer("to");
    } else if (object.contains("receive")) {
        read.kind = StepKind::receive;
        read.target = range(object, "receive", where);
        peer("from");
    } else if (object.contains("receive_reduce")) {
        read.kind = StepKind::receive_reduce;
        read.right = range(object, "receive_reduce", where);
        read.left = range(object, "with", where);
        read.target = range(object, "into", where);
        peer("from");
    } else if (object.contains("copy")) {
        read.kind = StepKind::copy;
        read.left = range(object, "copy", where);
        read.target = range(object, "into", where);
    } else if (object.contains("reduce")) {
        read.kind = StepKind::reduce;
        read.left = range(object, "reduce", where);
        read.right = range(object, "with", where);
        read.target = range(object, "into", where);
    } else {
        refuse(where + " is none of send, receive, receive_reduce, copy, reduce");
    }
    if (const auto after = object.find("after"); after != object.end()) {
        if (!after->is_array()) refuse(fmt::format("\"after\" of {} is no list", where));
        for (const Json& earlier : *after) {
            if (!earlier.is_number_unsigned() || earlier.get<std::uint64_t>() >= no_step)
                refuse(fmt::format("\"after\" of {} holds what is no step", where));
            read.after.push_back(earlier.get<std::uint32_t>());
        }
    }
    return read;
}

RankPlan rank_plan(const Json& object, std::size_t rank) {
    const std::string where = fmt::format("rank {}", rank);
    if (!object.is_object() || !object.contains("steps") || !object["steps"].is_array())
        refuse(where + " has no list \"steps\"");
    RankPlan read;
    read.scratch = number(object, "scratch", most_elements, where);
    for (const Json& each : object["steps"])
        read.steps.push_back(step(each, fmt::format("{}, step {}", where, read.steps.size())));
    return read;
}

Json text_of(const Range& range) { return Json::array({name(range.buffer), range.offset, range.count}); }

Json text_of(const Step& step) {
    Json object;
    switch (step.kind) {
    case StepKind::send:
        object = {{"send", text_of(step.left)}, {"to", step.peer}};
        break;
    case StepKind::receive:
        object = {{"receive", text_of(step.target)}, {"from", step.peer}};
        break;
    case StepKind::receive_reduce:
        object = {{"receive_reduce", text_of(step.right)},
                  {"from", step.peer},
                  {"with", text_of(step.left)},
                  {"into", text_of(step.target)}};
        break;
    case StepKind::copy:
        object = {{"copy", text_of(step.left)}, {"into", text_of(step.target)}};
        break;
    case StepKind::reduce:
        object = {{"reduce", text_of(step.left)}, {"with", text_of(step.right)}, {"into", text_of(step.target)}};
        break;
    }
    if (!step.after.empty()) object["after"] = step.after;
    return object;
}

/// FNV-1a.
std::uint32_t digest_of(std::string_view text) {
    std::uint32_t hash = 2166136261U;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
    return hash;
}

std::string steps_text(const Plan& plan, const char* indent) {
    std::string text;
    for (const RankPlan& rank : plan.ranks) {
        if (!text.empty()) text += ",";
        text += fmt::format("{}{{\"scratch\": {}, \"steps\": [", indent, rank.scratch);
        for (std::size_t index = 0; index < rank.steps.size(); ++index)
            text += fmt::format("{}{}  {}", index == 0 ? "" : ",", indent, text_of(rank.steps[index]).dump());
        text += fmt::format("{}]}}", rank.steps.empty() ? "" : indent);
    }
    return text;
}

} // namespace

NamedPlan read_plan(std::string_view text) {
    const Json object = Json::parse(text, nullptr, false);
    if (object.is_discarded()) refuse("it is no JSON");
    if (!object.is_object()) refuse("it is no JSON object");
    const std::string where = "the plan";
    if (number(object, "verbena_plan", 1'000'000, where) != format_version)
        refuse(fmt::format("\"verbena_plan\" is not {}, the version of the format", format_version));
    NamedPlan read;
    if (!object.contains("name") || !object["name"].is_string() || object["name"].get<std::string>().empty())
        refuse("it has no \"name\"");
    read.name = object["name"].get<std::string>();
    const std::string operation = object.value("operation", Json()).is_string() ? object["operation"] : "";
    const std::optional<Collective> collective = collective_of(operation);
    if (!collective || takes_counts(*collective)) refuse(fmt::format("no operation \"{}\" takes a plan", operation));
    read.collective = *collective;
    read.plan.count = number(object, "count", most_elements, where);
    if (!object.contains("ranks") || !object["ranks"].is_array() || object["ranks"].empty() ||
        object["ranks"].size() > most_ranks) {
        refuse(fmt::format("\"ranks\" is no list of 1 to {} ranks", most_ranks));
    }
    for (const Json& each : object["ranks"]) read.plan.ranks.push_back(rank_plan(each, read.plan.ranks.size()));
    read.plan.root = static_cast<std::uint32_t>(
        object.contains("root") ? number(object, "root", read.plan.ranks.size() - 1, where) : 0);
    if (const std::optional<Fault> fault = find_fault(read.plan, read.collective)) refuse(fault->sentence);
    read.digest = digest_of(steps_text(read.plan, " "));
    return read;
}

std::string write_plan(const NamedPlan& named) {
    std::string text = "{\n";
    text += fmt::format("  \"verbena_plan\": {},\n", format_version);
    text += fmt::format("  \"name\": {},\n", Json(named.name).dump());
    text += fmt::format("  \"operation\": \"{}\",\n", name(named.collective));
    text += fmt::format("  \"count\": {},\n", named.plan.count);
    if (has_root(named.collective)) text += fmt::format("  \"root\": {},\n", named.plan.root);
    text += fmt::format("  \"ranks\": [{}\n  ]\n}}\n", steps_text(named.plan, "\n    "));
    return text;
}

RankPlan scaled(const NamedPlan& named, std::uint32_t rank, std::uint64_t count) {
    const std::uint64_t base = named.plan.count;
    const bool fits = base == 0 ? count == 0 : count % base == 0;
    if (!fits) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the plan \"{}\" is for multiples of {} elements, and this call has {}", named.name,
                                base, count));
    }
    const std::uint64_t factor = base == 0 || count == 0 ? 1 : count / base;
    if (count == 0) return {};
    RankPlan plan = named.plan.ranks[rank];
    if (plan.scratch > most_elements / factor) refuse(fmt::format("{} elements need too much scratch", count));
    plan.scratch *= factor;
    for (Step& step : plan.steps) {
        for (Range* range : {&step.target, &step.left, &step.right}) {
            range->offset *= factor;
            range->count *= factor;
        }
    }
    return plan;
}

} // namespace verbena::coll
