#include "api/runtime_core.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

namespace verbena::detail {
namespace {

/// A rank looks at the clock once in so many steps, busy or idle (others' traffic must hide neither a deadline nor a
/// lost rank), and at the store, which is one system call, and the groups no more often than this.
constexpr std::uint64_t steps_between_clock_readings = 64;
constexpr auto between_looks = std::chrono::milliseconds(1);

/// After so many yields that brought nothing a waiting rank sleeps, so that more ranks than cores, or one that waits
/// for long, do not burn the machine. Short against any time-out, long against a message.
constexpr std::uint64_t yields_before_sleep = 20'000;
constexpr auto sleep_between_polls = std::chrono::microseconds(50);

constexpr msg::Context closing_context = 2; ///< 0 is the user's, 1 the world's

/// About 80 us: longer than a message takes, shorter than a scheduler's slice.
constexpr std::uint64_t default_spin_polls = 2000;

/// A rank that spins while the rank it waits for has no core to run on wastes the whole spin every time. A machine of
/// one core has no other core for the other end, wherever that is (a guest, a container).
std::uint64_t spin_polls(const Settings& settings) {
    if (settings.is_set("spin-polls")) return static_cast<std::uint64_t>(settings.number("spin-polls"));
    cpu_set_t cores;
    if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return default_spin_polls;
    const int count = CPU_COUNT(&cores);
    return count > 1 && count >= settings.number("local-size") ? default_spin_polls : 0;
}

} // namespace

std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds limit) {
    const auto now = std::chrono::steady_clock::now();
    const auto room = std::chrono::steady_clock::time_point::max() - now;
    return limit < room ? now + limit : std::chrono::steady_clock::time_point::max();
}

RuntimeCore::RuntimeCore(const Settings& wanted)
    : settings(wanted),
      job(boot::job_from(settings)),
      gate(std::make_shared<Gate>(settings.text("threads") == "serialised")),
      operation_timeout(settings.duration("operation-timeout")),
      collective_timeout(settings.is_set("collective-timeout") ? settings.duration("collective-timeout")
                                                               : operation_timeout / 4 * 3),
      spaces(std::make_shared<mem::Spaces>(settings.text("gpu"))),
      spin_polls_(default_spin_polls) {
    wire_up(*this);
    spin_polls_ = spin_polls(settings); // now it is known how many ranks share this host
}

RuntimeCore::~RuntimeCore() { close(); }

msg::Engine& RuntimeCore::open_engine() const {
    if (!engine) throw Error(ErrorCode::cancelled, "this runtime was closed");
    return *engine;
}

std::size_t RuntimeCore::progress() {
    const Gate::Pass pass = gate->enter();
    if (!engine) return 0; // closed
    const std::size_t handled = engine->progress();
    if (++steps_ % steps_between_clock_readings == 0) look_around();
    return handled;
}

void RuntimeCore::look_around() {
    const Clock::time_point now = Clock::now();
    if (now - last_look_ < between_looks) return;
    last_look_ = now;
    if (store) look_for_lost_ranks();
    tend_groups(now);
}

void RuntimeCore::tend_groups(Clock::time_point now) {
    for (const auto& group : groups) group->collectives->tick(now.time_since_epoch());
    // One that is over stays: somebody must take what others may still send to it.
    std::erase_if(groups, [](const std::shared_ptr<GroupCore>& group) {
        return group.use_count() == 1 && group->collectives->is_idle() && !group->collectives->is_over();
    });
}

void RuntimeCore::look_for_lost_ranks() {
    for (const boot::Lost& lost : store->poll_lost()) {
        while (engine->progress() > 0) {
        } // what has arrived is not lost with its sender
        Status status;
        status.code = ErrorCode::peer_lost;
        status.scope = Scope::channel;
        status.source = lost.rank.value_or(job.rank);
        for (const auto& group : groups) group->collectives->lose(status.source, status, lost.reason);
        engine->fail_tasks(status);
        for (std::uint32_t rank = 0; rank < job.size; ++rank) {
            if (rank == job.rank || (lost.rank && *lost.rank != rank)) continue;
            engine->fail_peer(rank, status,
                              lost.rank ? fmt::format("rank {} is lost: {}", rank, lost.reason)
                                        : fmt::format("the job's store is lost: {}", lost.reason));
        }
    }
}

bool RuntimeCore::wait(msg::OperationId id, Clock::time_point deadline) {
    return wait_until([&](const msg::Engine& open) { return open.is_complete(id); }, deadline);
}

bool RuntimeCore::Patience::goes_on(bool moved) {
    empty_polls_ = moved ? 0 : empty_polls_ + 1;
    if (++steps_ % steps_between_clock_readings == 0 && Clock::now() >= deadline_) return false;
    const bool spins = moved || empty_polls_ < core_.spin_polls_;
    if (spins && !core_.gate->is_wanted()) return true;
    if (empty_polls_ < core_.spin_polls_ + yields_before_sleep) {
        ::sched_yield();
    } else {
        std::this_thread::sleep_for(sleep_between_polls);
    }
    return true;
}

void RuntimeCore::close() noexcept {
    const Gate::Pass pass = gate->enter_quietly();
    if (closed_) return;
    closed_ = true;
    try {
        const Clock::time_point deadline = Clock::now() + settings.duration("close-timeout");
        // First by message, so that everybody goes on moving messages until all are here; then each makes sure that its
        // own have arrived, the meeting's included; then at the store, so that nobody takes its queue pairs down while
        // a peer waits for their acknowledgement.
        if (world && job.size > 1) {
            bool everybody_is_here = false;
            coll::Collectives closing(*engine, closing_context); // not to meet what others still do in the world
            const msg::OperationId met = closing.start({.collective = Collective::barrier});
            if (wait(met, deadline)) everybody_is_here = engine->status(met).ok();
            engine->release(met);
            for (std::uint32_t rank = 0; rank < job.size; ++rank) {
                const msg::OperationId flush = engine->flush(rank);
                (void)wait(flush, deadline);
                engine->release(flush);
            }
            if (everybody_is_here) store->barrier("close", deadline);
        }
    } catch (const std::exception&) {
        // A rank that cannot say goodbye leaves all the same: what was on its way is reported by the others.
    }
    if (store) store->call_while_waiting({});
    for (const auto& group : groups) group->collectives.reset(); // a Group may live on
    groups.clear();
    engine.reset();
    order_trace.reset();
    device.reset();
    if (store) store->leave();
    if (server) server->wait_until_empty(Clock::now() + settings.duration("close-timeout"));
    store.reset();
    server.reset();
}

} // namespace verbena::detail
