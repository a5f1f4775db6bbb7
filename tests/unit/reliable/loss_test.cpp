/// The queue pair over simulated datagrams: what the conformance suite, with two ends that behave, does not show.
#include "catch.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "datagrams.hpp"
#include "reliable/packet.hpp"

using namespace verbena;
using namespace verbena::testing;

namespace {

/// One rank's queue pair, with what was polled.
struct End {
    std::unique_ptr<wire::Device> device;
    std::unique_ptr<wire::CompletionQueue> cq;
    std::unique_ptr<wire::QueuePair> qp;
    std::vector<wire::Completion> sent;
    std::vector<wire::Completion> received;

    explicit End(std::unique_ptr<wire::Device> opened) : device(std::move(opened)) {
        cq = device->create_completion_queue(1024);
        wire::QueuePairOptions options;
        options.send_cq = options.receive_cq = cq.get();
        options.send_depth = 64;
        qp = device->create_queue_pair(options);
    }
    void post_receive(std::span<std::byte> buffer) {
        const wire::Sge sge{buffer.data(), static_cast<std::uint32_t>(buffer.size()), {}};
        const wire::ReceiveRequest receive{0, {&sge, 1}};
        REQUIRE(qp->post_receive({&receive, 1}).accepted == 1);
    }
    void post(wire::PeerHandle peer, std::uint64_t wr_id, std::span<std::byte> message,
              wire::Opcode opcode = wire::Opcode::send, wire::RemoteAddress remote = {}) {
        const wire::Sge sge{message.data(), static_cast<std::uint32_t>(message.size()), {}};
        wire::WorkRequest request;
        request.wr_id = wr_id;
        request.opcode = opcode;
        request.flags = wire::signaled;
        request.sges = {&sge, 1};
        request.peer = peer;
        request.remote = remote;
        REQUIRE(qp->post_send({&request, 1}).accepted == 1);
    }
    void poll() {
        std::array<wire::Completion, 16> batch;
        while (const std::size_t count = cq->poll(batch)) {
            for (const auto& each : std::span(batch).first(count)) (each.is_receive ? received : sent).push_back(each);
        }
    }
};

/// `ranks` ends that know each other; handles[a][b] is a's for b.
struct Job {
    sim::Fabric fabric;
    std::deque<End> ends;
    std::vector<std::vector<wire::PeerHandle>> handles;

    explicit Job(std::uint32_t ranks, const reliable::Options& options = {}, const sim::Faults& faults = {})
        : fabric(3, {{}, faults}), handles(ranks, std::vector<wire::PeerHandle>(ranks)) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) ends.emplace_back(reliable_device(fabric, rank, 5, options));
        for (std::uint32_t a = 0; a < ranks; ++a) {
            for (std::uint32_t b = 0; b < ranks; ++b) {
                if (a != b) handles[a][b] = ends[a].qp->resolve(ends[b].qp->address());
            }
        }
    }
    template <class Done>
    [[nodiscard]] bool run(Done done, std::uint64_t most_steps = 3'000'000) {
        for (std::uint64_t step = 0; step < most_steps; ++step) {
            if (done()) return true;
            step_or_wait(fabric);
            for (End& end : ends) end.poll();
        }
        return done();
    }
};

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + (i >> 12));
    return data;
}

} // namespace

TEST_CASE("a dead peer ends alone, after its time, with one sentence; others are served meanwhile") {
    reliable::Options options;
    options.give_up_after = 2'000'000'000;
    options.packets = 32;
    Job job(3, options);
    job.fabric.kill(static_cast<reliable::Device&>(*job.ends[2].device).datagrams());
    std::vector<std::byte> message = pattern(100'000);
    std::vector<std::byte> target(100'000);
    for (std::uint64_t i = 0; i < 20; ++i) job.ends[0].post(job.handles[0][2], 100 + i, message);
    for (std::uint64_t i = 0; i < 10; ++i) {
        job.ends[1].post_receive(target);
        job.ends[0].post(job.handles[0][1], i, message);
    }
    REQUIRE(job.run([&] { return job.ends[1].received.size() == 10; }));
    CHECK(job.fabric.now() < options.give_up_after); // nobody waited for the dead one's end
    CHECK(target == message);
    REQUIRE(job.run([&] { return job.ends[0].sent.size() == 30; }));
    CHECK(job.fabric.now() >= options.give_up_after);
    CHECK(job.fabric.now() < 2 * options.give_up_after);
    std::size_t retries_exceeded = 0;
    for (const wire::Completion& each : job.ends[0].sent) {
        if (each.wr_id < 100) {
            CHECK(each.status == wire::CompletionStatus::success);
        } else {
            CHECK(each.status != wire::CompletionStatus::success);
            if (each.status == wire::CompletionStatus::retry_exceeded) ++retries_exceeded;
        }
    }
    CHECK(retries_exceeded == 1); // the first; the others are flushed
    const std::string why = job.ends[0].qp->describe_peer(job.handles[0][2]).failure;
    CAPTURE(why);
    CHECK_THAT(why, VERBENA_CONTAINS("rank 2 answered nothing for 2.0 s"));
    CHECK_THAT(why, VERBENA_CONTAINS("retries"));
    std::array<wire::AsyncEvent, 4> events;
    REQUIRE(job.ends[0].device->poll_async(events) == 1);
    CHECK(events[0].kind == wire::AsyncEventKind::peer_unreachable);
    CHECK(events[0].number == job.handles[0][2].value);

    // What it held is free again, and the way to the others is as good as before.
    for (std::uint64_t i = 0; i < 10; ++i) {
        job.ends[1].post_receive(target);
        job.ends[0].post(job.handles[0][1], i, message);
    }
    REQUIRE(job.run([&] { return job.ends[1].received.size() == 20; }));
}

TEST_CASE("a message without a receive waits, however long, and its sender is not given up") {
    reliable::Options options;
    options.give_up_after = 500'000'000;
    sim::Faults faults;
    faults.drop = GENERATE(0.0, 0.2);
    Job job(2, options, faults);
    std::vector<std::byte> message = pattern(10'000);
    std::vector<std::byte> target(10'000);
    for (std::uint64_t i = 0; i < 5; ++i) job.ends[0].post(job.handles[0][1], i, message);
    const sim::Time long_after = 10 * options.give_up_after;
    REQUIRE(job.run([&] { return job.fabric.now() > long_after; }));
    CHECK(job.ends[1].received.empty());
    for (std::uint64_t i = 0; i < 5; ++i) job.ends[1].post_receive(target);
    REQUIRE(job.run([&] { return job.ends[1].received.size() == 5 && job.ends[0].sent.size() == 5; }));
    CHECK(target == message);
}

TEST_CASE("one that waits for a receive does not keep another peer's READs and WRITEs waiting") {
    Job job(3);
    std::vector<std::byte> message = pattern(5000);
    std::vector<std::byte> memory = pattern(300'000);
    std::vector<std::byte> fetched(300'000);
    const auto region = job.ends[1].device->register_memory(memory, Access::remote_read);
    for (std::uint64_t i = 0; i < 30; ++i) job.ends[0].post(job.handles[0][1], i, message); // no receives there
    job.ends[2].post(job.handles[2][1], 1, fetched, wire::Opcode::rdma_read,
                     {region->remote_address(memory.data()), region->rkey()});
    REQUIRE(job.run([&] { return job.ends[2].sent.size() == 1; }));
    CHECK(job.ends[2].sent[0].status == wire::CompletionStatus::success);
    CHECK(fetched == memory);
}

TEST_CASE("64 MiB are read in order over 10 % loss, 1 % duplicates and 25 % reordering") {
    sim::Faults faults;
    faults.drop = 0.10;
    faults.duplicate = 0.01;
    faults.reorder = 0.25;
    Job job(2, {}, faults);
    const std::vector<std::byte> content = pattern(64u << 20);
    std::vector<std::byte> memory = content;
    std::vector<std::byte> fetched(memory.size());
    const auto region = job.ends[1].device->register_memory(memory, Access::remote_read);
    job.ends[0].post(job.handles[0][1], 1, fetched, wire::Opcode::rdma_read,
                     {region->remote_address(memory.data()), region->rkey()});
    REQUIRE(job.run([&] { return job.ends[0].sent.size() == 1; }));
    CHECK(job.ends[0].sent[0].status == wire::CompletionStatus::success);
    CHECK(fetched == content);
    CHECK(job.ends[1].qp->describe_peer(job.handles[1][0]).packets_repeated > 1000);
}

TEST_CASE("packets of another session, of a stranger, or forged are counted and dropped") {
    Job job(2);
    std::vector<std::byte> target(64);
    job.ends[1].post_receive(target);
    // A datagram queue pair of no verbena, that knows where rank 1 is.
    auto stranger = job.fabric.device({sim::ud_like(), {}});
    const auto cq = stranger->create_completion_queue(256);
    wire::QueuePairOptions options;
    options.send_cq = options.receive_cq = cq.get();
    const auto qp = stranger->create_queue_pair(options);
    const wire::Address address = job.ends[1].qp->address();
    const wire::PeerHandle victim = qp->resolve(std::span(address).subspan(40));
    reliable::PacketHeader header;
    header.kind = reliable::PacketKind::message;
    header.flags = reliable::last_piece;
    std::uint64_t session = 0;
    std::memcpy(&session, address.data() + 8, sizeof session);
    std::uint32_t sequence = 0;
    const wire::Address sender = job.ends[0].qp->address();
    std::memcpy(&sequence, sender.data() + 20, sizeof sequence);
    header.sequence = sequence;
    SECTION("another session") { header.session = session + 1; }
    SECTION("a rank that is not in the job") {
        header.session = session;
        header.source = 17;
    }
    SECTION("the right session and rank, from a queue pair that is not that rank's") { header.session = session; }
    SECTION("no packet at all") { header.version = 0; }
    std::vector<std::byte> packet(sizeof header);
    std::memcpy(packet.data(), &header, sizeof header);
    const auto memory = stranger->register_memory(packet, Access::none);
    // Its own number differs from rank 0's only when it is not the first of its device.
    const auto second = stranger->create_queue_pair(options);
    const wire::PeerHandle same_victim = second->resolve(std::span(address).subspan(40));
    REQUIRE(same_victim.value == victim.value);
    const wire::Sge sge{packet.data(), static_cast<std::uint32_t>(packet.size()), memory->lkey()};
    wire::WorkRequest request;
    request.flags = wire::signaled;
    request.sges = {&sge, 1};
    request.peer = victim;
    REQUIRE(second->post_send({&request, 1}).accepted == 1);
    REQUIRE(job.run([&] { return job.ends[1].qp->describe().packets_refused == 1; }));
    CHECK(job.ends[1].received.empty());
    std::vector<std::byte> message = pattern(64);
    job.ends[0].post(job.handles[0][1], 1, message);
    REQUIRE(job.run([&] { return job.ends[1].received.size() == 1; }));
    CHECK(target == message);
}

TEST_CASE("after abandon() nothing of that peer is taken, and the other end gives up by itself") {
    reliable::Options options;
    options.give_up_after = 1'000'000'000;
    Job job(2, options);
    std::vector<std::byte> message = pattern(100'000);
    job.ends[0].post(job.handles[0][1], 1, message);
    job.ends[0].qp->abandon(job.handles[0][1]);
    job.ends[0].poll();
    REQUIRE(job.ends[0].sent.size() == 1);
    CHECK(job.ends[0].sent[0].status == wire::CompletionStatus::flushed);
    job.ends[1].post(job.handles[1][0], 2, message);
    REQUIRE(job.run([&] { return job.ends[1].sent.size() == 1; }));
    CHECK(job.ends[1].sent[0].status == wire::CompletionStatus::retry_exceeded);
    CHECK(job.ends[0].received.empty());
}

TEST_CASE("a peer that starts again under its old rank is not taken for the old one") {
    reliable::Options options;
    options.give_up_after = 1'000'000'000;
    Job job(2, options);
    std::vector<std::byte> message = pattern(64);
    std::vector<std::byte> target(64);
    job.ends[0].post_receive(target);
    // A new rank 1 on a new device: another session. It knows rank 0, which knows only the old one.
    End again(reliable_device(job.fabric, 1, 99, options));
    const wire::PeerHandle zero = again.qp->resolve(job.ends[0].qp->address());
    again.post(zero, 1, message);
    REQUIRE(job.run([&] {
        again.poll();
        return !again.sent.empty();
    }));
    CHECK(again.sent[0].status == wire::CompletionStatus::retry_exceeded);
    job.ends[1].post(job.handles[1][0], 2, message); // the old one is still served
    REQUIRE(job.run([&] { return job.ends[0].received.size() == 1; }));
}
