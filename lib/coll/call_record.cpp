#include "coll/call_record.hpp"

#include <initializer_list>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coll/extent.hpp"
#include "coll/selection.hpp"

namespace verbena::coll {
namespace {

Collective collective_in(const CallRecord& record) { return static_cast<Collective>(record.collective); }

std::string_view algorithm_name(const CallRecord& record) {
    return record.algorithm < algorithms().size() ? algorithms()[record.algorithm].name : "a plan of the user's";
}

} // namespace

std::uint32_t fingerprint_of(const CallRecord& record) noexcept {
    // Steele, Lea and Flood's finalizer (2014) over each word: any bit of the input moves half of the output's.
    const auto mix = [](std::uint64_t value) {
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
        value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
        return value ^ (value >> 31);
    };
    const std::uint64_t kinds = std::uint64_t{record.root} << 32 | std::uint64_t{record.op} << 16 |
                                std::uint64_t{record.type} << 8 | record.collective;
    std::uint64_t state = 0x9e3779b97f4a7c15U;
    for (const std::uint64_t word :
         {kinds, record.count, record.segment, std::uint64_t{record.algorithm} << 32 | record.digest}) {
        state = mix(state + word);
    }
    return static_cast<std::uint32_t>(state >> (64 - fingerprint_bits));
}

std::string describe(const CallRecord& record) {
    const Collective collective = collective_in(record);
    if (collective == Collective::barrier) return "barrier";
    const bool is_own = record.op == users_reduction;
    std::string text = fmt::format("{} of {} {}", name(collective), record.count,
                                   is_own ? "elements of the user's" : name(static_cast<DataType>(record.type)));
    if (takes_counts(collective))
        text = fmt::format("{} of {}", name(collective), name(static_cast<DataType>(record.type)));
    if (has_root(collective)) text += fmt::format(" with root {}", record.root);
    if (is_reduction(collective) && !is_own)
        return text + fmt::format(" ({}, {})", name(static_cast<ReduceOp>(record.op)), algorithm_name(record));
    text += fmt::format(" ({})", algorithm_name(record));
    return text;
}

std::string differing_fields(const CallRecord& one, const CallRecord& other) {
    if (one.collective != other.collective) return "operation";
    std::vector<std::string_view> fields;
    if (one.type != other.type) fields.emplace_back("type");
    if (one.op != other.op) fields.emplace_back("reduction");
    if (one.count != other.count) fields.emplace_back("count");
    if (one.root != other.root) fields.emplace_back("root");
    if (one.algorithm != other.algorithm) fields.emplace_back("algorithm");
    if (fields.empty() && one.segment != other.segment) fields.emplace_back("segment");
    if (one.digest != other.digest) fields.emplace_back(one.algorithm == users_plan ? "plan" : "counts of the ranks");
    return fmt::format("{}", fmt::join(fields, ", "));
}

} // namespace verbena::coll
