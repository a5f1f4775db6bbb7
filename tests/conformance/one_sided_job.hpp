/// @file
/// The bench of the one-sided cases: message engines on the two devices of a Pair, all in this thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "link.hpp"
#include "mem/space.hpp"
#include "msg/engine.hpp"
#include "msg/registrations.hpp"

namespace verbena::conformance {

/// Even ranks are on device a, odd ones on b.
class OneSidedJob {
  public:
    explicit OneSidedJob(Pair& pair, std::uint32_t ranks = 2, msg::EngineOptions options = {});

    [[nodiscard]] msg::Engine& operator[](std::uint32_t rank) { return *engines_[rank]; }
    void end(std::uint32_t rank) { engines_[rank].reset(); }

    /// Everybody makes a step. `only` names the one rank that does.
    void step(std::uint32_t only = all);

    template <class Done>
    [[nodiscard]] bool wait(Done done, std::uint32_t only = all) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!done()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            step(only);
        }
        return true;
    }
    /// Its end; code timed_out when it has none within a long while.
    [[nodiscard]] Status end_of(std::uint32_t rank, msg::OperationId id, std::uint32_t only = all);

    static constexpr std::uint32_t all = 0xffffffff;

  private:
    std::function<void()>& step_;
    mem::Spaces spaces_{"off"};
    std::vector<std::unique_ptr<msg::Engine>> engines_;
};

/// Memory of one rank that others reach, between guards.
class Exposed {
  public:
    Exposed(msg::Engine& engine, std::size_t size,
            Access access = Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic);

    [[nodiscard]] std::span<std::byte> bytes() { return {storage_.data() + guard, size_}; }
    [[nodiscard]] std::uint64_t word(std::size_t offset) const;
    void set_word(std::size_t offset, std::uint64_t value);
    void fill(unsigned seed);
    /// Whatever the registration has of the three remote rights.
    [[nodiscard]] const RemoteRegion& region() const { return region_; }
    [[nodiscard]] const msg::Engine::Registration& registration() const { return *registration_; }
    [[nodiscard]] bool guards_intact() const;
    void deregister() { registration_.reset(); }

  private:
    static constexpr std::size_t guard = 64;
    std::size_t size_;
    std::vector<std::byte> storage_;
    std::unique_ptr<msg::Engine::Registration> registration_;
    RemoteRegion region_;
};

[[nodiscard]] std::vector<std::byte> content(unsigned seed, std::size_t bytes);

[[nodiscard]] msg::OneSidedCall put_call(std::span<const std::byte> source, const RemoteRegion& to,
                                         std::uint64_t offset = 0);
[[nodiscard]] msg::OneSidedCall get_call(std::span<std::byte> destination, const RemoteRegion& from,
                                         std::uint64_t offset = 0);
[[nodiscard]] msg::OneSidedCall atomic_call(msg::OneSidedCall::Kind kind, const RemoteRegion& at, std::uint64_t offset,
                                            std::uint64_t operand, std::uint64_t compare = 0,
                                            std::uint64_t* before = nullptr);

} // namespace verbena::conformance
