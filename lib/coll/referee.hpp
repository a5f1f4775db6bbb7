/// @file
/// Sees to it that calls of a group which differ, or lack a rank, end on every rank with a sentence that names the odd
/// one.
///
/// Costs a call nothing: a message of a call that differs carries another fingerprint in its tag, so it matches no
/// receive and comes here (msg::Listener). Then, or when nothing has moved for half of the limit, the ranks tell each
/// other what they have called (Notice), and each draws the same conclusion (Inquiry). Whatever ends a group on one
/// rank ends it on all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "coll/inquiry.hpp"
#include "coll/notice.hpp"
#include "coll/team.hpp"
#include "msg/engine.hpp"

namespace verbena::coll {

/// Progress-thread only.
class Referee final : public msg::Listener {
  public:
    using Time = std::chrono::nanoseconds; ///< since any fixed moment

    /// `limit`: how long a call may go without a step before ranks that are missing are named.
    Referee(msg::Engine& engine, std::shared_ptr<Team> team, Time limit);
    ~Referee() override;
    Referee(const Referee&) = delete;
    Referee& operator=(const Referee&) = delete;

    void early(std::uint32_t rank, msg::Context context, Tag tag) noexcept override;
    void note(const Contradiction& contradiction) noexcept {
        if (!contradiction_) contradiction_ = contradiction;
    }
    /// One look at everything. Cheap when nothing is wrong.
    void tick(Time now);

  private:
    struct Open {
        Inquiry inquiry;
        Time since;
        bool has_stated = false; ///< that we have made the call; that we have not is said once, on opening
    };
    struct Watched {
        std::uint64_t steps_finished = 0;
        Time since{};
    };

    void take_notices();
    void handle(std::uint32_t rank, const Notice& notice);
    void watch_running();
    Open& open(std::uint32_t sequence);
    void state(Open& open);
    /// True when the inquiry is over.
    bool conclude(Open& open);
    void say_to_all(const Notice& notice);
    /// The group is over: everybody is told, and what still comes is thrown away.
    void wind_up();

    msg::Engine& engine_;
    std::shared_ptr<Team> team_;
    Time limit_;
    Time now_{};
    std::vector<std::uint32_t> notices_from_; ///< job ranks, one entry a notice that waits
    std::optional<Contradiction> contradiction_;
    std::map<std::uint32_t, Open> inquiries_;  ///< by sequence
    std::map<std::uint32_t, Watched> watched_; ///< by sequence of a running call
    bool has_strays_ = false;                  ///< messages of a group that is over
    bool has_told_ = false;
};

} // namespace verbena::coll
