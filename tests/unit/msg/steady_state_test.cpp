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
