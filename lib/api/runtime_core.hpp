/// @file
/// What a Runtime owns, in the order in which it is taken down, and how its callers wait. Progress-thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <verbena/device.hpp>
#include <verbena/error.hpp>
#include <verbena/operation.hpp>
#include <verbena/settings.hpp>

#include "api/gate.hpp"
#include "api/group_core.hpp"
#include "api/order_trace_file.hpp"
#include "boot/job.hpp"
#include "boot/store_client.hpp"
#include "boot/store_server.hpp"
#include "mem/space.hpp"
#include "msg/engine.hpp"
#include "wire/device.hpp"

namespace verbena::detail {

/// `limit` from now, or never where that is beyond the clock.
[[nodiscard]] std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds limit);

struct RuntimeCore {
    using Clock = std::chrono::steady_clock;

    explicit RuntimeCore(const Settings& wanted);
    ~RuntimeCore();

    /// One step; now and then also a look at the store for ranks that are gone.
    std::size_t progress();
    /// Steps until the operation is complete or the deadline has passed; false then. Spins, then yields, then sleeps.
    bool wait(msg::OperationId id, Clock::time_point deadline);
    /// The same until `done(engine)`, and for as long as the engine is open. The gate is passed for each step.
    template <class Done>
    bool wait_until(Done&& done, Clock::time_point deadline) {
        Patience patience(*this, deadline);
        for (;;) {
            bool moved = false;
            {
                const Gate::Pass pass = gate->enter();
                if (!engine || done(*engine)) return true;
                moved = progress() > 0;
            }
            if (!patience.goes_on(moved)) {
                const Gate::Pass pass = gate->enter();
                return !engine || done(*engine);
            }
        }
    }
    void close() noexcept;

    /// An Operation for what `start` begins; after close() one that was cancelled.
    template <class Start>
    Operation operation(Start&& start) {
        const Gate::Pass pass = gate->enter();
        if (!engine) {
            Status closed;
            closed.code = ErrorCode::cancelled;
            return Operation(closed);
        }
        const msg::OperationId id = start(*engine);
        return {this, id.index, id.generation};
    }
    /// @throws Error (cancelled) after close().
    [[nodiscard]] msg::Engine& open_engine() const;

    Settings settings;
    boot::Job job;
    std::uint64_t identity = 0; ///< random, the same on every rank: one job's remote regions mean nothing to another
    std::shared_ptr<Gate> gate; ///< shared with MemoryRegions, whose end is a call too
    Selection selection;
    std::chrono::nanoseconds operation_timeout; ///< the setting, read once: it is asked for at every wait
    std::chrono::nanoseconds collective_timeout;
    std::shared_ptr<mem::Spaces> spaces;
    std::vector<bool> shares_gpus; ///< by rank, as EngineOptions has it
    // Shared with MemoryRegions, so that one destroyed after its Runtime still finds its device.
    std::shared_ptr<wire::Device> device;
    std::unique_ptr<boot::StoreServer> server;   ///< only in the process that hosts the store
    std::unique_ptr<boot::StoreClient> store;    ///< none in a job of one
    std::unique_ptr<OrderTraceFile> order_trace; ///< only where it is recorded
    std::unique_ptr<msg::Engine> engine;
    std::vector<std::shared_ptr<GroupCore>> groups; ///< one that nobody else holds goes when it is idle
    std::shared_ptr<GroupCore> world;
    msg::Context free_context = 3; ///< and all above: 0 is the user's, 1 the world's, 2 serves closing

  private:
    void look_around();
    /// How a caller waits: it spins, then yields, then sleeps, and looks at the clock now and then.
    class Patience {
      public:
        Patience(const RuntimeCore& core, Clock::time_point deadline) : core_(core), deadline_(deadline) {}
        /// After a step; false once the deadline has passed.
        [[nodiscard]] bool goes_on(bool moved);

      private:
        const RuntimeCore& core_;
        Clock::time_point deadline_;
        std::uint64_t steps_ = 0;
        std::uint64_t empty_polls_ = 0;
    };

    void look_for_lost_ranks();
    void tend_groups(Clock::time_point now);

    std::uint64_t steps_ = 0;
    std::uint64_t spin_polls_;
    Clock::time_point last_look_{};
    bool closed_ = false;
};

/// Meets the other ranks, agrees on a device, opens it and connects every pair. @throws Error on every rank when it
/// fails on one, with that rank's reason.
void wire_up(RuntimeCore& core);

} // namespace verbena::detail
