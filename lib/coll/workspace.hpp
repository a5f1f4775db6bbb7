/// @file
/// What a running collective holds beyond the caller's buffers. Kept from call to call, so that the steady state
/// allocates and registers nothing. Progress-thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/schedule.hpp"
#include "mem/space.hpp"
#include "msg/engine.hpp"

namespace verbena::coll {

/// Where a collective's memory is; scratch is of the same kind and on the same GPU.
struct Place {
    mem::Space* space = nullptr; ///< borrowed from the engine's spaces
    int gpu = -1;
};

/// Registered memory that grows.
class Scratch {
  public:
    Scratch() noexcept;
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    /// At least `bytes` at `place`; what it held is lost. @throws Error
    void reserve(msg::Engine& engine, const Place& place, std::size_t bytes);
    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool is_at(const Place& place) const noexcept {
        return data_ == nullptr || (place_.space == place.space && place_.gpu == place.gpu);
    }

  private:
    void release() noexcept;

    Place place_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::unique_ptr<msg::Engine::Registration> registration_;
};

/// A message that has been started and not yet seen complete.
struct Flight {
    std::uint32_t step = 0;
    msg::OperationId operation{};
};

struct Workspace {
    Scratch scratch;
    Frontier frontier;
    std::vector<Flight> flights;
};

/// A group's workspaces: one for each collective that has ever run at the same time as others.
class WorkspacePool {
  public:
    /// A workspace with no flights. @throws Error where scratch cannot be had
    [[nodiscard]] std::unique_ptr<Workspace> acquire(msg::Engine& engine, const Place& place,
                                                     std::size_t scratch_bytes);
    void give_back(std::unique_ptr<Workspace> workspace);
    /// Takes over a workspace whose messages are still on their way, after a failure: its scratch stays until each of
    /// them has completed.
    void abandon(std::unique_ptr<Workspace> workspace);

    /// Workspaces that wait for messages of failed collectives.
    [[nodiscard]] std::size_t abandoned() const noexcept { return abandoned_.size(); }

  private:
    void reclaim(msg::Engine& engine);

    std::vector<std::unique_ptr<Workspace>> free_;
    std::vector<std::unique_ptr<Workspace>> abandoned_;
};

} // namespace verbena::coll
