#include "coll/simulation.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "coll/extent.hpp"
#include "coll/program.hpp"

namespace verbena::coll {
namespace {

/// The programs of all ranks; one where they are the same seen from each rank.
class Programs {
  public:
    Programs(const Algorithm& algorithm, const Shape& shape, const SimulationLimits& limits) : ranks_(shape.ranks) {
        const auto make = [&](std::uint32_t rank) {
            Shape own = shape;
            own.rank = rank;
            return program_of(algorithm.plan(own), rank, ranks_);
        };
        programs_.push_back(make(0));
        std::uint64_t steps = programs_[0].steps.size();
        bool are_alike = true;
        for (const std::uint64_t part : {1U, 3U, 5U, 8U}) { // of eight: places all over the group
            for (const std::uint64_t beside : {0U, 1U}) {
                const auto rank = static_cast<std::uint32_t>((ranks_ - 1) * part / 8 + beside) % ranks_;
                const Program program = make(rank);
                steps = std::max<std::uint64_t>(steps, program.steps.size());
                are_alike = are_alike && program == programs_[0];
            }
        }
        messages_ = sends(programs_[0]) * ranks_;
        steps_ = programs_[0].steps.size() * ranks_;
        if (are_alike) return;
        if (steps * ranks_ > limits.steps) {
            refusal_ = fmt::format("about {} million steps, and {} million are kept", steps * ranks_ / 1'000'000,
                                   limits.steps / 1'000'000);
            return;
        }
        messages_ = sends(programs_[0]);
        steps_ = programs_[0].steps.size();
        for (std::uint32_t rank = 1; rank < ranks_; ++rank) {
            programs_.push_back(make(rank));
            messages_ += sends(programs_.back());
            steps_ += programs_.back().steps.size();
        }
    }
    [[nodiscard]] const Program& of(std::uint32_t rank) const noexcept {
        return programs_.size() == 1 ? programs_[0] : programs_[rank];
    }
    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; } ///< of all ranks
    [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

  private:
    static std::uint64_t sends(const Program& program) {
        return static_cast<std::uint64_t>(
            std::count_if(program.steps.begin(), program.steps.end(),
                          [](const Program::Step& step) { return step.kind == StepKind::send; }));
    }
    std::uint32_t ranks_;
    std::vector<Program> programs_;
    std::uint64_t messages_ = 0;
    std::uint64_t steps_ = 0;
    std::string refusal_;
};

/// When each link is free again.
class Links {
  public:
    Links(const Topology& topology, std::uint32_t ranks) : topology_(topology), ranks_(ranks) {
        std::uint32_t below = 1;
        for (const Level& level : topology.levels) {
            const std::size_t groups = (ranks + below - 1) / below;
            free_.push_back({std::vector<double>(groups), std::vector<double>(groups)});
            sizes_.push_back(below);
            below = level.ranks == 0 ? ranks : level.ranks;
        }
    }

    struct Passage {
        double left = 0; ///< the sender's link is free again
        double arrives = 0;
    };
    Passage pass(double now, std::uint32_t from, std::uint32_t to, double bytes) {
        std::size_t top = 0;
        while (top + 1 < topology_.levels.size() && !is_one_group(top, from, to)) ++top;
        double start = now;
        for (std::size_t level = 0; level <= top; ++level) {
            start = std::max({start, free_[level].out[from / sizes_[level]], free_[level].in[to / sizes_[level]]});
        }
        double slowest = 0;
        for (std::size_t level = 0; level <= top; ++level) {
            const Level& link = topology_.levels[level];
            const double alone = bytes / link.gigabytes_per_second; // 1 GB/s is a byte a nanosecond
            // Several links take turns: the group's next message may start when one of them would be free on average.
            const double turn = (link.gap_ns + alone) / link.links;
            free_[level].out[from / sizes_[level]] = start + turn;
            free_[level].in[to / sizes_[level]] = start + turn;
            slowest = std::max(slowest, link.gap_ns + alone);
        }
        return {start + slowest, start + slowest + topology_.levels[top].latency_ns};
    }

  private:
    [[nodiscard]] bool is_one_group(std::size_t level, std::uint32_t from, std::uint32_t to) const noexcept {
        const std::uint32_t size = topology_.levels[level].ranks == 0 ? ranks_ : topology_.levels[level].ranks;
        return from / size == to / size;
    }
    struct Direction {
        std::vector<double> out;
        std::vector<double> in;
    };
    const Topology& topology_;
    std::uint32_t ranks_;
    std::vector<Direction> free_;      ///< by level, then by group of the level below
    std::vector<std::uint32_t> sizes_; ///< by level: ranks of a group of the level below
};

class Run {
  public:
    Run(const Programs& programs, std::uint32_t ranks, double element_bytes, const Topology& topology)
        : programs_(programs),
          ranks_(ranks),
          element_bytes_(element_bytes),
          topology_(topology),
          links_(topology, ranks) {
        waits_.resize(ranks);
        core_free_.resize(ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const Program& program = programs.of(rank);
            waits_[rank].reserve(program.steps.size());
            for (std::uint32_t index = 0; index < program.steps.size(); ++index) {
                const std::uint32_t waits = program.steps[index].waits;
                waits_[rank].push_back(waits);
                if (waits == 0) at(0, rank, index, false);
            }
            unfinished_ += program.steps.size();
        }
    }

    Simulated run() {
        Simulated result;
        while (!events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            ++result.events;
            now_ = event.time;
            event.is_end ? finish(event.rank, event.step) : start(event.rank, event.step);
        }
        result.has_run = unfinished_ == 0;
        if (!result.has_run) result.reason = "it came to a standstill";
        result.nanoseconds = now_;
        result.messages = programs_.messages();
        return result;
    }

  private:
    struct Event {
        double time;
        std::uint32_t rank;
        std::uint32_t step : 31;
        bool is_end : 1;

        /// The earliest is on top; of those of one time the earliest step, as ranks that act alike take their steps.
        friend bool operator<(const Event& one, const Event& other) noexcept {
            if (one.time != other.time) return one.time > other.time;
            return one.step != other.step ? one.step > other.step : one.rank > other.rank;
        }
    };
    /// Of a message: what has come first, its arrival or its receive.
    struct Half {
        double time = 0;
        std::uint32_t step = no_step; ///< the receive; no_step: it is the arrival that waits
    };

    void at(double time, std::uint32_t rank, std::uint32_t index, bool is_end) {
        events_.push({time, rank, index & 0x7fffffffU, is_end});
    }

    void start(std::uint32_t rank, std::uint32_t index) {
        const Program::Step& step = programs_.of(rank).steps[index];
        if (step.follower != no_step) clear(rank, step.follower);
        const double bytes = static_cast<double>(step.count) * element_bytes_;
        if (step.kind == StepKind::send) {
            const std::uint32_t to = (rank + step.peer) % ranks_;
            const Links::Passage passage = links_.pass(now_, rank, to, bytes);
            at(passage.left, rank, index, true);
            meet(rank, to, step.number, {passage.arrives, no_step});
        } else if (is_receive(step.kind)) {
            meet((rank + step.peer) % ranks_, rank, step.number, {now_, index});
        } else {
            compute(rank, index, now_);
        }
    }

    void meet(std::uint32_t from, std::uint32_t to, std::uint32_t number, const Half& half) {
        const std::uint64_t key = std::uint64_t{to} << 44 | std::uint64_t{from} << 20 | number;
        const auto [entry, is_first] = halves_.try_emplace(key, half);
        if (is_first) return;
        const Half other = entry->second;
        halves_.erase(entry);
        const std::uint32_t index = half.step != no_step ? half.step : other.step;
        const double arrived = std::max(half.time, other.time);
        if (programs_.of(to).steps[index].kind == StepKind::receive_reduce) {
            compute(to, index, arrived);
        } else {
            at(arrived, to, index, true);
        }
    }

    void compute(std::uint32_t rank, std::uint32_t index, double ready) {
        const Program::Step& step = programs_.of(rank).steps[index];
        const double cost = step.kind == StepKind::copy ? topology_.copy_ns_per_byte : topology_.reduction_ns_per_byte;
        core_free_[rank] = std::max(core_free_[rank], ready) + cost * static_cast<double>(step.count) * element_bytes_;
        at(core_free_[rank], rank, index, true);
    }

    void finish(std::uint32_t rank, std::uint32_t index) {
        const Program& program = programs_.of(rank);
        --unfinished_;
        const std::uint32_t end = index + 1 < program.steps.size()
                                      ? program.steps[index + 1].first_dependent
                                      : static_cast<std::uint32_t>(program.dependents.size());
        for (std::uint32_t which = program.steps[index].first_dependent; which < end; ++which)
            clear(rank, program.dependents[which]);
    }
    void clear(std::uint32_t rank, std::uint32_t index) {
        if (--waits_[rank][index] == 0) at(now_, rank, index, false);
    }

    const Programs& programs_;
    std::uint32_t ranks_;
    double element_bytes_;
    const Topology& topology_;
    Links links_;
    std::vector<std::vector<std::uint32_t>> waits_;
    std::vector<double> core_free_;
    std::priority_queue<Event> events_;
    std::unordered_map<std::uint64_t, Half> halves_;
    std::uint64_t unfinished_ = 0;
    double now_ = 0;
};

} // namespace

Simulated simulate(const Algorithm& algorithm, std::uint32_t ranks, std::uint64_t count, std::uint32_t element_bytes,
                   const Topology& topology, const SimulationLimits& limits) {
    Simulated result;
    if (!algorithm.can_run(ranks)) {
        result.reason = "only for powers of two of ranks";
        return result;
    }
    const std::uint64_t bytes = count * element_bytes * (has_blocks(algorithm.collective) ? ranks : 1);
    const Shape shape{0, ranks, count, segment_bytes(algorithm, ranks, bytes) / element_bytes, 0};
    const Programs programs(algorithm, shape, limits);
    result.reason = programs.refusal();
    if (result.reason.empty() && programs.messages() > limits.messages) {
        result.reason = fmt::format("{} million messages, and the limit is {} million", programs.messages() / 1'000'000,
                                    limits.messages / 1'000'000);
    }
    if (result.reason.empty() && programs.steps() > 4 * limits.messages) {
        result.reason = fmt::format("{} million steps, and the limit is {} million", programs.steps() / 1'000'000,
                                    4 * limits.messages / 1'000'000);
    }
    result.messages = programs.messages();
    if (!result.reason.empty()) return result;
    return Run(programs, ranks, element_bytes, topology).run();
}

double lower_bound_ns(Collective collective, std::uint32_t ranks, double bytes, const Topology& topology) {
    if (ranks < 2) return 0;
    std::size_t farthest = 0;
    while (topology.levels[farthest].ranks != 0 && topology.levels[farthest].ranks < ranks) ++farthest;
    double bound = topology.levels[farthest].latency_ns;
    if (collective == Collective::barrier) return bound;
    double size = 1; // ranks of a group whose links are looked at
    for (const Level& level : topology.levels) {
        const double groups = ranks / size;
        const double others = (groups - 1) / groups;
        double crossing = bytes;
        switch (collective) {
        case Collective::all_reduce:
            crossing = 2 * others * bytes;
            break;
        case Collective::reduce_scatter:
        case Collective::all_gather:
        case Collective::gather:
        case Collective::scatter:
            crossing = others * bytes;
            break;
        case Collective::all_to_all:
            crossing = size * others * bytes;
            break;
        default:
            break;
        }
        if (groups > 1) bound = std::max(bound, crossing / (level.gigabytes_per_second * level.links));
        size = level.ranks == 0 ? ranks : level.ranks;
    }
    return bound;
}

} // namespace verbena::coll
