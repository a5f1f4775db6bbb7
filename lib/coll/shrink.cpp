#include "coll/shrink.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "coll/team.hpp"

namespace verbena::coll {
namespace {

/// Tells the messages of a shrink from the notices of the group, and one shrink and round from another.
constexpr Tag shrink_tag = Tag{1} << 63;
constexpr unsigned round_bits = 24;

} // namespace

ShrinkTask::ShrinkTask(Members members, msg::Context context, std::uint32_t number, msg::Context free_context,
                       std::shared_ptr<Survivors> survivors)
    : members_(std::move(members)),
      context_(context | notice_context_bit),
      tag_(shrink_tag | Tag{number} << round_bits),
      free_context_(free_context),
      survivors_(std::move(survivors)),
      lost_(members_.size()),
      told_(members_.size()) {}

void ShrinkTask::fail(const Status& status) {
    const std::optional<std::uint32_t> rank = members_.rank_of(status.source);
    if (!rank) return;
    lose(*rank); // its messages end with its channel
    if (*rank == members_.own()) failure_ = status;
}

std::optional<Status> ShrinkTask::advance(msg::Engine& engine) {
    while (true) {
        if (!is_in_round_) begin_round(engine);
        if (!collect(engine)) return std::nullopt;
        is_in_round_ = false;
        if (failure_) return failure_;
        if (lost_.contains(members_.own())) {
            Status status;
            status.code = ErrorCode::refused;
            status.source = engine.rank();
            return status;
        }
        if (all_agree_ && lost_ == told_) return finish(engine);
    }
}

void ShrinkTask::begin_round(msg::Engine& engine) {
    is_in_round_ = true;
    all_agree_ = true;
    told_ = lost_;
    ++tag_;
    const std::span<const std::uint64_t> words = told_.words();
    said_.resize(sizeof(std::uint64_t) * (words.size() + 1));
    const std::uint64_t free_context = free_context_;
    std::memcpy(said_.data(), &free_context, sizeof free_context);
    std::memcpy(said_.data() + sizeof free_context, words.data(), words.size_bytes());
    peers_.clear();
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
        if (rank == members_.own() || told_.contains(rank)) continue;
        Peer& peer = peers_.emplace_back();
        peer.rank = rank;
        peer.heard.resize(said_.size());
    }
    for (Peer& peer : peers_) {
        peer.receive = engine.receive(members_.job_rank(peer.rank), context_, tag_, peer.heard);
        peer.send = engine.send(members_.job_rank(peer.rank), context_, tag_, said_);
    }
}

bool ShrinkTask::collect(msg::Engine& engine) {
    bool is_over = true;
    survivors_->awaited.clear();
    for (Peer& peer : peers_) {
        if (failure_ || lost_.contains(peer.rank)) {
            if (!peer.is_sent) engine.cancel(peer.send);
            if (!peer.is_received) engine.cancel(peer.receive);
        }
        if (!peer.is_sent && engine.is_complete(peer.send)) {
            if (!engine.status(peer.send).ok()) lose(peer.rank);
            engine.release(peer.send);
            peer.is_sent = true;
        }
        if (!peer.is_received && engine.is_complete(peer.receive)) {
            const Status status = engine.status(peer.receive);
            engine.release(peer.receive);
            peer.is_received = true;
            status.ok() ? take_in(peer, status.bytes) : lose(peer.rank);
        }
        if (!peer.is_received) survivors_->awaited.push_back(peer.rank);
        is_over = is_over && peer.is_sent && peer.is_received;
    }
    return is_over;
}

void ShrinkTask::take_in(const Peer& peer, std::size_t bytes) {
    if (bytes != said_.size()) return lose(peer.rank);
    std::uint64_t free_context = 0;
    std::memcpy(&free_context, peer.heard.data(), sizeof free_context);
    free_context_ = std::max(free_context_, static_cast<msg::Context>(free_context));
    RankSet theirs(members_.size());
    std::vector<std::uint64_t> words(theirs.words().size());
    std::memcpy(words.data(), peer.heard.data() + sizeof free_context, words.size() * sizeof(std::uint64_t));
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
        if ((words[rank / 64] >> (rank % 64) & 1) != 0) theirs.insert(rank);
    }
    if (!(theirs == told_)) all_agree_ = false;
    lost_.merge(theirs);
}

Status ShrinkTask::finish(msg::Engine& engine) {
    survivors_->context = free_context_;
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
        if (!lost_.contains(rank)) survivors_->job_ranks.push_back(members_.job_rank(rank));
    }
    Status status;
    status.source = engine.rank();
    return status;
}

} // namespace verbena::coll
