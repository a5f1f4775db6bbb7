/// @file
/// Which ranks of a group are still there: agreed on by them alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "coll/members.hpp"
#include "coll/rank_set.hpp"
#include "msg/engine.hpp"

namespace verbena::coll {

/// What the survivors agree on; the same on each of them.
struct Survivors {
    std::vector<std::uint32_t> job_ranks; ///< in the order of the group
    msg::Context context = 0;             ///< free on all of them
    std::vector<std::uint32_t> awaited;   ///< while it lasts: ranks of the group that have not been heard in this round
};

/// Rounds in which each rank tells every other whom it has lost, until all that are there name the same (flooding with
/// failure detection; the channels detect). A rank whose channel is broken counts as lost, so two ranks that cannot
/// reach each other are both left out. When a rank goes in the very last round, the new group may end with it at once:
/// then shrink that. Progress-thread only.
class ShrinkTask final : public msg::Task {
  public:
    /// `number`: how many times this group has been shrunk before, equal on every rank. `free_context`: this rank's
    /// first that no group has.
    ShrinkTask(Members members, msg::Context context, std::uint32_t number, msg::Context free_context,
               std::shared_ptr<Survivors> survivors);

    std::optional<Status> advance(msg::Engine& engine) override;
    void fail(const Status& status) override;

  private:
    struct Peer {
        std::uint32_t rank = 0; ///< of the group
        std::vector<std::byte> heard;
        msg::OperationId send{};
        msg::OperationId receive{};
        bool is_sent = false;
        bool is_received = false;
    };

    void begin_round(msg::Engine& engine);
    /// True when nothing of this round is on its way.
    bool collect(msg::Engine& engine);
    void take_in(const Peer& peer, std::size_t bytes);
    void lose(std::uint32_t rank) { lost_.insert(rank); }
    [[nodiscard]] Status finish(msg::Engine& engine);

    Members members_;
    msg::Context context_;
    Tag tag_;
    msg::Context free_context_;
    std::shared_ptr<Survivors> survivors_;
    RankSet lost_;
    RankSet told_; ///< what we said in this round
    bool all_agree_ = true;
    bool is_in_round_ = false;
    std::vector<std::byte> said_;
    std::vector<Peer> peers_; ///< of this round
    std::optional<Status> failure_;
};

} // namespace verbena::coll
