/// Keys and bounds of registrations.
#include "rig.hpp"

#include <array>

using namespace verbena;
using namespace verbena::sim;
using conformance::Buffer;
using conformance::request;
using wire::CompletionStatus;
using wire::Opcode;

TEST_CASE("a key means something to one device, as one kind of key") {
    Rig rig;
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 8);
    CHECK(local.sge().lkey.value != local.remote().rkey.value);
    CHECK(local.sge().lkey.value != remote.sge().lkey.value);
    CHECK(local.remote().rkey.value != remote.remote().rkey.value);
    auto sge = local.sge();
    auto target = remote.remote();
    CompletionStatus expected = CompletionStatus::local_protection_error;
    SECTION("the other device's lkey") { sge.lkey = remote.sge().lkey; }
    SECTION("our own rkey as lkey") { sge.lkey.value = local.remote().rkey.value; }
    SECTION("our rkey where the peer's belongs") {
        target.rkey = local.remote().rkey;
        expected = CompletionStatus::remote_access_error;
    }
    SECTION("the peer's lkey as rkey") {
        target.rkey.value = remote.sge().lkey.value;
        expected = CompletionStatus::remote_access_error;
    }
    rig.link.a.post(request(1, Opcode::rdma_write, {&sge, 1}, target));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 1);
    CHECK(rig.link.a.sent[0].status == expected);
    CHECK(remote.is_clear(0, 8));
}

TEST_CASE("a key is not given twice") {
    Fabric fabric(1);
    const auto device = fabric.device();
    std::array<std::byte, 8> bytes{};
    const std::uint64_t first = device->register_memory(bytes, Access::messages)->rkey().value;
    CHECK(device->register_memory(bytes, Access::messages)->rkey().value != first);
}

TEST_CASE("remote addresses are offsets where the provider wants offsets") {
    Fabric fabric(1);
    const auto device = fabric.device({rdm_like(), "rdm"});
    CHECK(device->describe() == "rdm (rdm_like)");
    std::array<std::byte, 8> bytes{};
    const auto region = device->register_memory(bytes, Access::messages);
    CHECK(region->remote_address(bytes.data() + 3) == 3);
}

TEST_CASE("a local buffer outside its registration is found before anything leaves") {
    Rig rig;
    Buffer local(*rig.pair.a, 8);
    Buffer remote(*rig.pair.b, 16);
    const std::array beyond{local.sge(1, 8)};
    rig.link.a.post(request(1, Opcode::rdma_write, beyond, remote.remote()));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 1);
    CHECK(rig.link.a.sent[0].status == CompletionStatus::local_protection_error);
    CHECK(rig.link.b.qp->describe().state == wire::QueuePairState::rts); // the peer saw nothing
    CHECK(remote.is_clear(0, 16));
}

TEST_CASE("a READ into memory that may not be written locally fails") {
    Rig rig;
    Buffer local(*rig.pair.a, 8, Access::remote_read);
    Buffer remote(*rig.pair.b, 8);
    remote.fill(1);
    const std::array into{local.sge()};
    rig.link.a.post(request(1, Opcode::rdma_read, into, remote.remote()));
    rig.settle();
    REQUIRE(rig.link.a.sent.size() == 1);
    CHECK(rig.link.a.sent[0].status == CompletionStatus::local_protection_error);
    CHECK(local.is_clear(0, 8));
}
