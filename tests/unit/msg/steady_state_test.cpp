#include "catch.hpp"

#include <cstdlib>
#include <new>
#include <vector>

#include "mem/space.hpp"
#include "msg/engine.hpp"
#include "msg/registrations.hpp"
#include "null_wire.hpp"

using namespace verbena;

namespace {

std::size_t allocations = 0;

} // namespace

void* operator new(std::size_t bytes) {
    ++allocations;
    if (void* memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("a message in the steady state allocates nothing: inline, copied, fetched, expected or early") {
    const std::size_t bytes = GENERATE(8u, 4096u, 100'000u);
    const bool early = GENERATE(false, true);
    CAPTURE(bytes, early);
    mem::Spaces spaces("off");
    testing::NullDevice devices[2];
    msg::EngineOptions options;
    options.size = 2;
    msg::Engine first(devices[0], spaces, options);
    options.rank = 1;
    msg::Engine second(devices[1], spaces, options);
    first.connect(1, second.address_for(0));
    second.connect(0, first.address_for(1));

    std::vector<std::byte> ping(bytes, std::byte{7});
    std::vector<std::byte> pong(bytes);
    const auto source = first.register_memory(ping, Access::messages);
    const auto target = second.register_memory(pong, Access::messages);
    const auto one_message = [&] {
        msg::OperationId receive{};
        if (!early) receive = second.receive(0, 0, 1, pong);
        const msg::OperationId send = first.send(1, 0, 1, ping);
        if (early) {
            second.progress();
            receive = second.receive(0, 0, 1, pong);
        }
        while (!second.is_complete(receive) || !first.is_complete(send)) {
            first.progress();
            second.progress();
        }
        first.release(send);
        second.release(receive);
    };
    for (int warm_up = 0; warm_up < 300; ++warm_up) one_message();
    const std::size_t before = allocations;
    for (int measured = 0; measured < 1000; ++measured) one_message();
    CHECK(allocations == before);
    CHECK(pong == ping);
}

TEST_CASE("a put, get or atomic in the steady state allocates nothing, by the device or by the peer's engine") {
    const bool has_rma = GENERATE(true, false);
    const std::size_t bytes = GENERATE(8u, 4096u, 100'000u);
    CAPTURE(has_rma, bytes);
    mem::Spaces spaces("off");
    testing::NullDevice devices[2]{testing::NullDevice(has_rma), testing::NullDevice(has_rma)};
    msg::EngineOptions options;
    options.size = 2;
    msg::Engine first(devices[0], spaces, options);
    options.rank = 1;
    msg::Engine second(devices[1], spaces, options);
    first.connect(1, second.address_for(0));
    second.connect(0, first.address_for(1));

    std::vector<std::byte> local(bytes, std::byte{7});
    std::vector<std::uint64_t> remote(bytes / 8 + 1);
    const auto source = first.register_memory(local, Access::local_write);
    const Access rights = Access::remote_read | Access::remote_write | Access::remote_atomic;
    const auto target = second.register_memory(std::as_writable_bytes(std::span(remote)), Access::local_write | rights);
    const RemoteRegion region = target->remote(rights);
    const auto finish = [&](msg::OperationId id) {
        while (!first.is_complete(id)) {
            first.progress();
            second.progress();
        }
        const bool ok = first.status(id).ok();
        first.release(id);
        return ok;
    };
    std::uint64_t before = 0;
    const auto one_round = [&] {
        bool ok = true;
        msg::OneSidedCall call;
        call.region = call.signal = &region;
        call.local = local;
        ok = finish(first.one_sided(1, call)) && ok;
        call.signal = nullptr;
        call.kind = msg::OneSidedCall::Kind::get;
        first.fence(1);
        ok = finish(first.one_sided(1, call)) && ok;
        call.local = {};
        call.before = &before;
        for (const auto kind : {msg::OneSidedCall::Kind::fetch_add, msg::OneSidedCall::Kind::compare_and_swap,
                                msg::OneSidedCall::Kind::swap}) {
            call.kind = kind;
            ok = finish(first.one_sided(1, call)) && ok;
        }
        return finish(first.flush(1)) && ok;
    };
    for (int warm_up = 0; warm_up < 300; ++warm_up) REQUIRE(one_round());
    const std::size_t allocated = allocations;
    bool all_ok = true;
    for (int measured = 0; measured < 300; ++measured) all_ok = one_round() && all_ok;
    CHECK(allocations == allocated);
    CHECK(all_ok);
}
