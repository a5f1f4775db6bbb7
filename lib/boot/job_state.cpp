#include "boot/job_state.hpp"

#include <algorithm>

#include <verbena/error.hpp>

#include "boot/codec.hpp"

namespace verbena::boot {
namespace {

/// Values of an exchange travel together up to this many bytes; a larger one travels alone.
constexpr std::size_t gathered_bytes = 64 << 10;

void send(std::uint32_t rank, const Message& message, Outbox& out) {
    out.push_back({rank, std::make_shared<const std::string>(encode(message))});
}

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>; // clang 14 does not deduce it by itself

} // namespace

Welcome JobState::join(const Join& join, Outbox& out) {
    Welcome welcome{Admission::admitted, size_, store_rank_, {}};
    if (join.size != size_)
        welcome.admission = Admission::other_size;
    else if (join.rank >= size_)
        welcome.admission = Admission::rank_range;
    if (welcome.admission != Admission::admitted) return welcome;

    if (present_ == 0) *this = JobState(size_, store_rank_);
    if (const auto known = members_.find(join.rank); known != members_.end()) {
        welcome.admission =
            known->second.presence == Presence::present ? Admission::rank_taken : Admission::rank_is_over;
        welcome.holder = known->second.host;
        return welcome;
    }
    for (const auto& [rank, member] : members_) {
        if (member.presence == Presence::lost) send(join.rank, RankLost{rank, member.reason}, out);
    }
    members_[join.rank] = Member{Presence::present, join.host, {}};
    ++present_;
    return welcome;
}

void JobState::handle(std::uint32_t rank, Message&& message, Outbox& out) {
    std::visit(Overloaded{[&](Put& m) { put(std::move(m), out); }, [&](Get& m) { get(rank, m, out); },
                          [&](Contribute& m) { contribute(rank, std::move(m), out); },
                          [&](AskMissing& m) { send(rank, missing(m), out); }, [&](Leave&) { leave(rank, out); },
                          [](auto&) { Reader::violation("not one that a client sends"); }},
               message);
}

void JobState::put(Put&& message, Outbox& out) {
    if (const auto waiting = waiters_.extract(message.key)) {
        for (const Waiter& waiter : waiting.mapped()) send(waiter.rank, Value{waiter.request, message.value}, out);
    }
    values_[std::move(message.key)] = std::move(message.value);
}

void JobState::get(std::uint32_t rank, const Get& message, Outbox& out) {
    if (const auto known = values_.find(message.key); known != values_.end()) {
        send(rank, Value{message.request, known->second}, out);
    } else {
        waiters_[message.key].push_back({rank, message.request});
    }
}

void JobState::contribute(std::uint32_t rank, Contribute&& message, Outbox& out) {
    Round& round = rounds_[message.name];
    // A rank that timed out asks again for a round that ended meanwhile: its answer is already on the way.
    if (message.round < round.number) return;
    if (message.round > round.number) Reader::violation("a round that has not begun");
    round.values.resize(size_);
    std::optional<std::string>& value = round.values[rank];
    if (!value) ++round.count;
    value = std::move(message.value);
    if (round.count == size_) {
        finish(message.name, round, out);
        return;
    }
    for (const auto& [other, member] : members_) {
        if (member.presence == Presence::left && !round.values[other]) {
            send(rank, Unfinishable{message.name, round.number, named(other)}, out);
            return;
        }
    }
}

void JobState::finish(const std::string& name, Round& round, Outbox& out) const {
    Gathered part{name, round.number, 0, {}};
    std::size_t bytes = 0;
    const auto flush = [&](std::uint32_t next) {
        send_to_all(part, out);
        part.first_rank = next;
        part.values.clear();
        bytes = 0;
    };
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        std::string& value = *round.values[rank];
        if (bytes != 0 && bytes + value.size() > gathered_bytes) flush(rank);
        bytes += value.size() + sizeof(std::uint32_t);
        part.values.push_back(std::move(value));
    }
    flush(size_);
    round = Round{round.number + 1, {}, 0};
}

void JobState::leave(std::uint32_t rank, Outbox& out) {
    members_[rank].presence = Presence::left;
    --present_;
    for (const auto& [name, round] : rounds_) {
        if (round.values.empty() || round.values[rank]) continue;
        for (const auto& [other, member] : members_) {
            if (member.presence == Presence::present && round.values[other]) {
                send(other, Unfinishable{name, round.number, named(rank)}, out);
            }
        }
    }
    send_to_all(RankLeft{rank}, out);
}

void JobState::lose(std::uint32_t rank, const std::string& reason, Outbox& out) {
    Member& member = members_[rank];
    member.presence = Presence::lost;
    member.reason = member.host.empty() ? reason : reason + " (it ran on " + member.host + ")";
    --present_;
    send_to_all(RankLost{rank, member.reason}, out);
}

Missing JobState::missing(const AskMissing& question) const {
    Missing answer{question.name, question.round, 0, {}};
    const auto known = rounds_.find(question.name);
    const bool is_open = known != rounds_.end() && !known->second.values.empty();
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        if (is_open && known->second.values[rank]) continue;
        ++answer.total;
        if (answer.ranks.size() < max_missing_listed) answer.ranks.push_back(named(rank));
    }
    return answer;
}

MissingRank JobState::named(std::uint32_t rank) const {
    const auto known = members_.find(rank);
    return {rank, known == members_.end() ? std::string() : known->second.host};
}

void JobState::send_to_all(const Message& message, Outbox& out) const {
    const auto bytes = std::make_shared<const std::string>(encode(message));
    for (const auto& [rank, member] : members_) {
        if (member.presence == Presence::present) out.push_back({rank, bytes});
    }
}

bool JobState::is_present(std::uint32_t rank) const {
    const auto known = members_.find(rank);
    return known != members_.end() && known->second.presence == Presence::present;
}

} // namespace verbena::boot
