#include "traffic.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "../support/sim_job.hpp"
#include "msg/registrations.hpp"

namespace verbena::soak {
namespace {

constexpr std::uint32_t tags = 2;

/// Payloads are windows of one noise table, which nobody writes: what message n of a route holds is known without
/// keeping it, and sending copies nothing of ours.
constexpr std::size_t noise_bytes = 256 * 1024;

std::span<std::byte> noise() {
    static std::vector<std::byte> bytes = [] {
        std::vector<std::byte> made(noise_bytes);
        sim::Random random(0x6e6f697365);
        for (std::size_t i = 0; i < made.size(); i += 8) {
            const std::uint64_t word = random.next();
            std::memcpy(made.data() + i, &word, 8);
        }
        return made;
    }();
    return bytes;
}

/// What a seed decides. Depths and windows are drawn evenly over their powers of two, so that small ones, where
/// accounting breaks first, are as frequent as large ones.
struct Plan {
    sim::Random random;
    const sim::Personality* personality;
    std::uint32_t ranks;
    msg::EngineOptions engine;
    sim::FabricOptions fabric;
    std::uint32_t most_steps_of_the_nic; ///< between two looks at it
    std::uint32_t most_waiting;          ///< messages of a route sent and not received
    double large;                        ///< share of messages beyond the eager limit

    explicit Plan(std::uint64_t seed) : random(seed * 0x9e3779b97f4a7c15u) {
        personality = sim::personalities()[below(sim::personalities().size())];
        ranks = 2 + below(3);
        engine.send_depth = logarithmic(4096);
        engine.receive_window = logarithmic(1024);
        // A slot's buffer is one message long: deep queues get short ones, so that making a job stays cheap.
        const std::uint32_t deepest = std::max(engine.send_depth, engine.receive_window);
        engine.eager_limit = std::max(64u, std::min(64 + below(2000), (1u << 18) / deepest));
        engine.inline_limit = below(300);
        engine.unexpected_limit = below(2) == 0 ? 0 : 20'000;
        fabric.faults.jitter_ns = below(3) * 1000;
        fabric.faults.refuse_post = below(4) == 0 ? 0.02 : 0;
        fabric.faults.drop = below(8) == 0 ? 0.002 : 0;
        fabric.faults.duplicate = below(8) == 0 ? 0.01 : 0;
        most_steps_of_the_nic = logarithmic(64);
        most_waiting = logarithmic(256);
        large = below(4) == 0 ? 0.05 : 0.005;
    }

    std::uint32_t below(std::uint64_t limit) { return static_cast<std::uint32_t>(random.up_to(limit - 1)); }
    std::uint32_t logarithmic(std::uint32_t most) {
        std::uint32_t bits = 0;
        while (most >> (bits + 1) != 0) ++bits;
        const std::uint32_t low = 1u << below(bits + 1);
        return std::min(most, low + below(low));
    }
};

struct Payload {
    std::size_t offset;
    std::size_t bytes;
};

struct Receive {
    msg::OperationId id;
    Payload expected;
    std::byte* buffer;
};

/// Messages with one tag from one rank to another.
struct Route {
    std::uint32_t from, to, tag;
    sim::Random lengths_sent, lengths_received; ///< the same sequence, drawn at each end
    std::uint64_t sent = 0, asked = 0, received = 0;
    std::deque<msg::OperationId> sends;
    std::deque<Receive> receives;
    std::vector<std::byte> memory; ///< of the receives, a ring of equal buffers
    std::size_t buffers = 0;
};

class Job {
  public:
    Job(std::uint64_t seed, std::uint64_t messages)
        : plan_(seed),
          job_(plan_.ranks, seed, *plan_.personality, plan_.engine, plan_.fabric),
          longest_(2 * plan_.engine.eager_limit + 64),
          wanted_(messages) {
        for (auto& engine : job_.engines) registrations_.push_back(engine->register_memory(noise(), Access::messages));
        for (std::uint32_t from = 0; from < plan_.ranks; ++from) {
            for (std::uint32_t to = 0; to < plan_.ranks; ++to) {
                for (std::uint32_t tag = 0; from != to && tag < tags; ++tag) add_route(from, to, tag);
            }
        }
    }

    Outcome run() {
        std::uint64_t idle = 0;
        while (failure_.empty() && received_ < wanted_) {
            const std::uint64_t before = received_ + started_ + asked_;
            for (int calls = 0; calls < 4; ++calls) act(routes_[plan_.below(routes_.size())]);
            advance();
            idle = received_ + started_ + asked_ == before && !moved_ ? idle + 1 : 0;
            if (idle > 200'000) fail("nothing moves any more", routes_[0]);
        }
        drain();
        check_the_nic();
        Outcome outcome;
        outcome.failure = failure_;
        outcome.totals = {1, received_, wrong_, divergences(), job_.fabric.statistics()};
        return outcome;
    }

  private:
    void add_route(std::uint32_t from, std::uint32_t to, std::uint32_t tag) {
        const std::uint64_t lengths = plan_.random.next();
        Route& route = routes_.emplace_back(Route{from, to, tag, sim::Random(lengths), sim::Random(lengths)});
        route.buffers = 1 + plan_.below(plan_.most_waiting);
        route.memory.resize(route.buffers * longest_);
        registrations_.push_back(job_[to].register_memory(route.memory, Access::messages));
    }

    Payload draw(sim::Random& random) {
        const std::uint64_t word = random.next();
        const std::size_t offset = (word >> 32) % (noise_bytes - longest_);
        const std::uint64_t kind = word & 0xffff;
        const std::uint64_t length = (word >> 16) & 0xffff;
        if (static_cast<double>(kind) < plan_.large * 65536)
            return {offset, plan_.engine.eager_limit + length % plan_.engine.eager_limit};
        // Mostly short ones: accounting does not depend on the length, and copying costs.
        return {offset, kind % 8 == 0 ? length % (plan_.engine.eager_limit + 1) : length % 65};
    }

    void act(Route& route) {
        if (started_ < wanted_ && route.sent - route.received < plan_.most_waiting) {
            for (std::uint32_t burst = 1 + plan_.below(4); burst > 0 && started_ < wanted_; --burst) send(route);
        }
        if (route.asked < route.sent + 2 && route.receives.size() < route.buffers) {
            ask(route);
        }
        reap(route);
    }

    void send(Route& route) {
        const Payload payload = draw(route.lengths_sent);
        route.sends.push_back(
            job_[route.from].send(route.to, 0, route.tag, noise().subspan(payload.offset, payload.bytes)));
        ++route.sent;
        ++started_;
        if (plan_.below(512) == 0) route.sends.push_back(job_[route.from].flush(route.to));
    }

    void ask(Route& route) {
        Receive receive{
            {}, draw(route.lengths_received), route.memory.data() + (route.asked % route.buffers) * longest_};
        receive.id = job_[route.to].receive(route.from, 0, route.tag, {receive.buffer, longest_});
        route.receives.push_back(receive);
        ++route.asked;
        ++asked_;
    }

    void reap(Route& route) {
        for (; !route.receives.empty() && job_[route.to].is_complete(route.receives.front().id); ++received_) {
            const Receive& receive = route.receives.front();
            const Status status = job_[route.to].status(receive.id);
            if (!status.ok()) return fail("a receive ended with " + verbena::describe(status), route);
            if (status.bytes != receive.expected.bytes ||
                std::memcmp(receive.buffer, noise().data() + receive.expected.offset, status.bytes) != 0) {
                ++wrong_;
                return fail("another message arrived than was sent: lost, doubled, out of order or damaged", route);
            }
            job_[route.to].release(receive.id);
            route.receives.pop_front();
            ++route.received;
        }
        for (; !route.sends.empty() && job_[route.from].is_complete(route.sends.front()); route.sends.pop_front()) {
            const Status status = job_[route.from].status(route.sends.front());
            if (!status.ok()) return fail("a send or flush ended with " + verbena::describe(status), route);
            job_[route.from].release(route.sends.front());
        }
    }

    /// Ranks look seldom or often, and not all of them at once.
    void advance() {
        moved_ = false;
        for (std::uint32_t steps = 1 + plan_.below(plan_.most_steps_of_the_nic); steps > 0; --steps) {
            if (!job_.fabric.step()) break;
            moved_ = true;
        }
        for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
            if (plan_.below(2) == 0) moved_ = job_[rank].progress() > 0 || moved_;
        }
    }

    /// Every send and flush ends, and nothing that nobody sent arrives.
    void drain() {
        const auto quiet = [&] {
            for (Route& route : routes_) {
                reap(route);
                if (!route.sends.empty()) return false;
            }
            return std::ranges::all_of(job_.engines, [](const auto& engine) { return engine->is_quiet(); });
        };
        for (std::uint64_t steps = 0; failure_.empty() && !quiet(); ++steps) {
            if (steps > 2'000'000) return fail("some sends never end", routes_[0]);
            job_.step();
        }
        for (int steps = 0; failure_.empty() && steps < 200; ++steps) job_.step();
        for (Route& route : routes_) {
            if (!failure_.empty() || route.sent == route.received) continue;
            wrong_ += route.sent - route.received;
            fail("messages are missing at the end", route);
        }
    }

    [[nodiscard]] std::uint64_t divergences() {
        std::uint64_t sum = 0;
        const bool shared = !plan_.personality->capabilities.connected;
        for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
            for (std::uint32_t peer = 0; peer < plan_.ranks; ++peer) {
                if (peer == rank) continue;
                sum += job_[rank].describe(peer).divergences;
                if (shared) break; // one queue pair for all
            }
        }
        return sum;
    }

    void check_the_nic() {
        if (!failure_.empty()) return;
        const sim::Statistics& nic = job_.fabric.statistics();
        const auto must_be_zero = [&](const char* what, std::uint64_t count) {
            if (count != 0 && failure_.empty()) failure_ = fmt::format("{} {}", count, what);
        };
        must_be_zero("posts to a full send queue (ENOMEM)", nic.queue_full);
        must_be_zero("posts to a full receive queue", nic.receive_queue_full);
        must_be_zero("completion queue overruns", nic.completion_queue_overruns);
        must_be_zero("messages found no receive posted (RNR)", nic.receiver_not_ready);
        if (failure_.empty() && divergences() != nic.provoked_refusals) {
            failure_ = fmt::format("{} refusals were provoked, {} counted as divergences", nic.provoked_refusals,
                                   divergences());
        }
    }

    void fail(const std::string& what, const Route& route) {
        const ChannelInfo channel = job_[route.from].describe(route.to);
        failure_ =
            fmt::format("{}; route {} -> {} tag {}: {} sent, {} received; credits {}, {} queued for \"{}\"{}{}", what,
                        route.from, route.to, route.tag, route.sent, route.received, channel.credits, channel.queued,
                        channel.waiting_for, channel.failure.empty() ? "" : "; ", channel.failure);
    }

    Plan plan_;
    testing::SimJob job_;
    std::size_t longest_;
    std::uint64_t wanted_;
    std::vector<Route> routes_;
    std::vector<std::unique_ptr<msg::Engine::Registration>> registrations_; ///< go before the engines
    std::uint64_t started_ = 0;
    std::uint64_t asked_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t wrong_ = 0;
    bool moved_ = true;
    std::string failure_;
};

} // namespace

void Totals::add(const Totals& other) noexcept {
    seeds += other.seeds;
    messages += other.messages;
    wrong += other.wrong;
    divergences += other.divergences;
    nic += other.nic;
}

std::string describe(std::uint64_t seed) {
    const Plan plan(seed);
    return fmt::format("{}, {} ranks, send depth {}, receive window {}, eager limit {} B", plan.personality->name,
                       plan.ranks, plan.engine.send_depth, plan.engine.receive_window, plan.engine.eager_limit);
}

Outcome run(std::uint64_t seed, std::uint64_t messages) { return Job(seed, messages).run(); }

} // namespace verbena::soak
