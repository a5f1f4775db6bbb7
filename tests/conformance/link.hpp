/// @file
/// The bench that the cases share: a queue pair on each device of a Pair, connected, with everything that was polled.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "catch.hpp"

#include "fixture.hpp"

/// Opens a case: `pair` is ready to use, or the case is left with the reason printed.
#define CONFORMANCE_PAIR(pair)                                                                                         \
    auto pair = verbena::conformance::make_pair();                                                                     \
    if (!pair.skip_reason.empty()) VERBENA_SKIP(pair.skip_reason);                                                     \
    INFO(pair.a->describe() << " and " << pair.b->describe())

/// Leaves the case when the device says that it lacks what the case is about.
#define CONFORMANCE_NEEDS(condition, lack)                                                                             \
    if (!(condition)) VERBENA_SKIP(pair.a->describe() << ": " << (lack))

namespace verbena::conformance {

/// Registered memory between two guards that nothing may touch. The registration covers the bytes exactly.
class Buffer {
  public:
    Buffer(wire::Device& device, std::size_t size); ///< with every access that the device can give
    Buffer(wire::Device& device, std::size_t size, Access access);

    [[nodiscard]] std::span<std::byte> bytes();
    [[nodiscard]] wire::Sge sge() { return sge(0, size_); }
    [[nodiscard]] wire::Sge sge(std::size_t offset, std::size_t length);
    [[nodiscard]] wire::RemoteAddress remote(std::size_t offset = 0);

    void fill(unsigned seed);
    void clear();
    [[nodiscard]] bool holds(unsigned seed) { return holds(seed, 0, size_); }
    /// Bytes [offset, offset + length) are those that fill(seed) put at the front of another buffer.
    [[nodiscard]] bool holds(unsigned seed, std::size_t offset, std::size_t length);
    [[nodiscard]] bool is_clear(std::size_t offset, std::size_t length);
    [[nodiscard]] bool guards_intact() const;

    void deregister() { region_.reset(); }

  private:
    std::vector<std::byte> storage_;
    std::size_t size_;
    std::unique_ptr<wire::MemoryRegion> region_;
};

struct Side {
    wire::Device& device;
    std::unique_ptr<wire::CompletionQueue> cq;
    std::unique_ptr<wire::QueuePair> qp;
    wire::PeerHandle peer{};
    std::vector<wire::Completion> sent{};     ///< polled so far, of the send queue
    std::vector<wire::Completion> received{}; ///< polled so far, of the receive queue

    [[nodiscard]] bool frees_only_itself() const;
    /// Posts one request as the device's rules want it (peer named; signaled where nothing may be unsignaled).
    wire::PostResult try_post(wire::WorkRequest request);
    void post(const wire::WorkRequest& request);
    /// Posts one receive into `buffer`.
    void post_receive(std::uint64_t wr_id, const wire::Sge& buffer);
    void poll();
};

class Link {
  public:
    explicit Link(Pair& pair, wire::QueuePairOptions options = small_queues());

    /// Depths small enough to fill, and a gather list.
    [[nodiscard]] static wire::QueuePairOptions small_queues();

    /// Lets time pass and polls both ends until `done()`; false when it is not within a long while. `poll_a` is false
    /// where `done` polls that end itself.
    template <class Done>
    [[nodiscard]] bool wait(Done done, bool poll_a = true) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!done()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            step_();
            if (poll_a) a.poll();
            b.poll();
        }
        return true;
    }
    /// Waits until `count` completions of each kind have been seen since the start.
    [[nodiscard]] bool wait_sent(Side& side, std::size_t count) {
        return wait([&] { return side.sent.size() >= count; });
    }
    [[nodiscard]] bool wait_received(Side& side, std::size_t count) {
        return wait([&] { return side.received.size() >= count; });
    }
    /// Time passes, nothing is polled: what a program sees that posts and looks away.
    void step() { step_(); }

  private:
    std::function<void()>& step_;

  public:
    Side a;
    Side b;
};

/// A signaled request with a one-element list that must live as long as the call that posts it.
[[nodiscard]] wire::WorkRequest request(std::uint64_t wr_id, wire::Opcode opcode, std::span<const wire::Sge> sges,
                                        wire::RemoteAddress remote = {}, std::uint8_t flags = wire::signaled);

} // namespace verbena::conformance
