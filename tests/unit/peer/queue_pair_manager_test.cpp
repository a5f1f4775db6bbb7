#include "catch.hpp"

#include <memory>
#include <vector>

#include "datagrams.hpp"
#include "peer/queue_pair_manager.hpp"

using namespace verbena;
using verbena::testing::reliable_device;
using verbena::testing::step_or_wait;

namespace {

struct Counting final : peer::Sink {
    void on_retired(const peer::SlotContext& context, const wire::Completion&, wire::CompletionStatus status) override {
        ++retired[context.rank];
        if (status != wire::CompletionStatus::success) ++failed[context.rank];
    }
    void on_message(peer::BufferId buffer, std::span<std::byte> message) override {
        ++messages;
        last.assign(message.begin(), message.end());
        buffers.push_back(buffer);
    }
    void on_receive_failed(peer::BufferId, const wire::Completion&) override { ++receives_failed; }

    std::vector<std::uint32_t> retired = std::vector<std::uint32_t>(64);
    std::vector<std::uint32_t> failed = std::vector<std::uint32_t>(64);
    std::uint32_t messages = 0;
    std::uint32_t receives_failed = 0;
    std::vector<std::byte> last;
    std::vector<peer::BufferId> buffers;
};

struct Ranks {
    sim::Fabric fabric{1};
    std::vector<std::unique_ptr<wire::Device>> devices;
    std::vector<std::unique_ptr<peer::QueuePairManager>> managers;
    std::vector<Counting> sinks;

    Ranks(std::uint32_t count, const sim::Personality& personality, peer::ManagerOptions options) : sinks(count) {
        options.size = count;
        for (std::uint32_t rank = 0; rank < count; ++rank) {
            options.rank = rank;
            devices.push_back(personality.capabilities.reliable ? fabric.device({personality, {}})
                                                                : reliable_device(fabric, rank, 1, {}, personality));
            managers.push_back(std::make_unique<peer::QueuePairManager>(*devices[rank], options));
        }
        for (std::uint32_t a = 0; a < count; ++a) {
            for (std::uint32_t b = 0; b < count; ++b) {
                if (a != b) managers[a]->connect(b, managers[b]->address_for(a));
            }
        }
    }
    peer::SendQueue::Posted post(std::uint32_t from, std::uint32_t to, std::byte content) {
        peer::Channel& channel = managers[from]->channel(to);
        std::byte* const buffer = channel.send_queue->next_buffer();
        buffer[0] = content;
        const wire::Sge sge{buffer, 1, channel.send_queue->buffer_key()};
        wire::WorkRequest request;
        request.sges = {&sge, 1};
        request.peer = channel.handle;
        return channel.post(request, {0, to, 0});
    }
    template <class Done>
    bool run(Done done) {
        for (int steps = 0; steps < 200'000 && !done(); ++steps) {
            step_or_wait(fabric);
            for (std::uint32_t rank = 0; rank < managers.size(); ++rank) managers[rank]->poll(sinks[rank]);
        }
        return done();
    }
};

peer::ManagerOptions small() {
    peer::ManagerOptions options;
    options.receive_window = 4;
    options.reply_buffers = 2;
    options.message_bytes = 256;
    options.queue_pair.send_depth = 16;
    return options;
}

} // namespace

TEST_CASE("a message goes through the manager on queue pairs a peer, on a shared one, and over datagrams") {
    const auto* personality = GENERATE(&sim::mlx5_like(), &sim::rdm_like(), &sim::ud_like());
    CAPTURE(personality->name);
    Ranks ranks(3, *personality, small());
    CHECK(ranks.managers[0]->is_shared() == !personality->capabilities.connected);
    for (std::uint32_t to = 1; to < 3; ++to) {
        REQUIRE(ranks.managers[0]->channel(to).has_room());
        REQUIRE(ranks.post(0, to, static_cast<std::byte>(40 + to)) == peer::SendQueue::Posted::yes);
        CHECK(ranks.managers[0]->channel(to).outstanding == 1);
    }
    REQUIRE(ranks.run([&] { return ranks.sinks[1].messages == 1 && ranks.sinks[2].messages == 1; }));
    CHECK(ranks.sinks[1].last == std::vector<std::byte>{std::byte{41}});
    CHECK(ranks.sinks[2].last == std::vector<std::byte>{std::byte{42}});
    CHECK(ranks.managers[1]->repost(ranks.sinks[1].buffers[0]));
}

TEST_CASE("what one peer has outstanding leaves room for another, and comes back when it is retired") {
    const auto* personality = GENERATE(&sim::rdm_like(), &sim::ud_like());
    CAPTURE(personality->name);
    Ranks ranks(3, *personality, small());
    peer::Channel& first = ranks.managers[0]->channel(1);
    std::uint32_t posted = 0;
    while (first.has_room()) {
        REQUIRE(ranks.post(0, 1, std::byte{1}) == peer::SendQueue::Posted::yes);
        ++posted;
    }
    CHECK(posted == 8); // half of the depth
    REQUIRE(ranks.managers[0]->channel(2).has_room());
    REQUIRE(ranks.post(0, 2, std::byte{2}) == peer::SendQueue::Posted::yes);
    REQUIRE(ranks.run([&] {
        for (const peer::BufferId buffer : std::exchange(ranks.sinks[1].buffers, {})) {
            (void)ranks.managers[1]->repost(buffer);
        }
        return first.outstanding == 0 && ranks.managers[0]->channel(2).outstanding == 0;
    }));
    CHECK(ranks.sinks[0].retired[1] == posted);
    CHECK(first.has_room());
}

TEST_CASE("a channel that is stopped gives back its slots; the others of a shared queue pair serve on") {
    Ranks ranks(3, sim::ud_like(), small());
    ranks.fabric.kill(static_cast<reliable::Device&>(*ranks.devices[1]).datagrams());
    for (int i = 0; i < 5; ++i) REQUIRE(ranks.post(0, 1, std::byte{1}) == peer::SendQueue::Posted::yes);
    ranks.managers[0]->stop(1);
    REQUIRE(ranks.run([&] { return ranks.managers[0]->channel(1).outstanding == 0; }));
    CHECK(ranks.sinks[0].failed[1] == 5);
    REQUIRE(ranks.post(0, 2, std::byte{2}) == peer::SendQueue::Posted::yes);
    REQUIRE(ranks.run([&] { return ranks.sinks[2].messages == 1; }));
}

TEST_CASE("an address that makes no sense is refused with the rank that gave it") {
    Ranks ranks(2, sim::ud_like(), small());
    wire::Address address = ranks.managers[1]->address_for(0);
    SECTION("empty") { address.clear(); }
    SECTION("another version") { address[0] = std::byte{9}; }
    SECTION("no receive window") { std::fill_n(address.begin() + 4, 4, std::byte{0}); }
    CHECK_THROWS_AS(ranks.managers[0]->connect(1, address), Error);
}

TEST_CASE("with datagrams the receive buffers do not grow with the number of ranks beyond a limit") {
    peer::ManagerOptions options = small();
    options.receive_window = 64;
    options.size = 1000;
    sim::Fabric fabric{1};
    const auto device = reliable_device(fabric, 0, 1);
    const peer::QueuePairManager manager(*device, options);
    CHECK(manager.overcommits_receives());
    CHECK(manager.receive_window() == 64); // a peer may have as many on the way as ever
    CHECK(manager.queue_pair_of(1).granted().receive_depth == 512);
}
