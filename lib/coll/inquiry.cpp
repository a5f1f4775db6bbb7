#include "coll/inquiry.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbena::coll {
namespace {

constexpr std::size_t most_named = 8; ///< ranks listed in a sentence

std::string listed(const std::vector<std::uint32_t>& ranks) {
    const std::size_t named = std::min(ranks.size(), most_named);
    std::string text = fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                                   fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(named), ", "));
    if (named < ranks.size()) text += fmt::format(" and {} more", ranks.size() - named);
    return text;
}

} // namespace

bool Inquiry::all_have_called() const noexcept {
    return std::all_of(statements_.begin(), statements_.end(),
                       [](const auto& statement) { return statement && statement->has_called; });
}

std::optional<Finding> Inquiry::conclude(bool time_is_up) const {
    if (!time_is_up && !all_have_called()) return std::nullopt;
    if (std::optional<Finding> found = differing()) return found;
    return time_is_up ? absent() : std::nullopt;
}

std::optional<Finding> Inquiry::differing() const {
    struct Camp {
        CallRecord record;
        std::vector<std::uint32_t> ranks;
    };
    std::vector<Camp> camps; // in the order of their lowest ranks
    for (std::uint32_t rank = 0; rank < statements_.size(); ++rank) {
        const std::optional<Statement>& statement = statements_[rank];
        if (!statement || !statement->has_called || statement->is_forgotten) continue;
        const auto found = std::find_if(camps.begin(), camps.end(),
                                        [&](const Camp& camp) { return camp.record == statement->record; });
        if (found == camps.end()) {
            camps.push_back({statement->record, {rank}});
        } else {
            found->ranks.push_back(rank);
        }
    }
    if (camps.size() < 2) return std::nullopt;
    const auto main = std::max_element(camps.begin(), camps.end(), [](const Camp& one, const Camp& other) {
        return one.ranks.size() < other.ranks.size();
    });
    Finding finding{ErrorCode::invalid_argument, 0, {}};
    std::vector<std::string> parts;
    for (const Camp& camp : camps) {
        if (&camp == &*main) continue;
        if (parts.empty()) finding.rank = camp.ranks.front();
        if (parts.size() == most_named) break;
        parts.push_back(fmt::format("{} {} {} (differs in: {})", listed(camp.ranks),
                                    camp.ranks.size() == 1 ? "calls" : "call", describe(camp.record),
                                    differing_fields(camp.record, main->record)));
    }
    finding.sentence =
        fmt::format("call #{} differs: {}; {} {} {}", sequence_, fmt::join(parts, "; "), listed(main->ranks),
                    main->ranks.size() == 1 ? "calls" : "call", describe(main->record));
    return finding;
}

std::optional<Finding> Inquiry::absent() const {
    std::vector<std::uint32_t> silent;
    std::vector<std::uint32_t> missing;
    std::string what = "call";
    for (std::uint32_t rank = 0; rank < statements_.size(); ++rank) {
        const std::optional<Statement>& statement = statements_[rank];
        if (!statement) {
            silent.push_back(rank);
        } else if (!statement->has_called) {
            missing.push_back(rank);
        } else if (!statement->is_forgotten) {
            what = describe(statement->record);
        }
    }
    if (silent.empty() && missing.empty()) return std::nullopt;
    std::vector<std::string> parts;
    if (!missing.empty()) {
        parts.push_back(fmt::format("{} {} not made it (the next call there is #{})", listed(missing),
                                    missing.size() == 1 ? "has" : "have", statements_[missing.front()]->next));
    }
    if (!silent.empty()) {
        parts.push_back(fmt::format("{} {} not answer", listed(silent), silent.size() == 1 ? "does" : "do"));
    }
    return Finding{ErrorCode::timed_out, missing.empty() ? silent.front() : missing.front(),
                   fmt::format("call #{}, {}: {}", sequence_, what, fmt::join(parts, "; "))};
}

} // namespace verbena::coll
