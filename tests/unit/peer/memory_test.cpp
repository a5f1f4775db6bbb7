/// What a peer costs while nothing is sent: 10,000 simulated peers in one process, counted byte by byte.
#include "catch.hpp"

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <malloc.h>

#include "datagrams.hpp"
#include "mem/space.hpp"
#include "msg/engine.hpp"

using namespace verbena;

namespace {

std::size_t allocated_bytes = 0;

} // namespace

void* operator new(std::size_t bytes) {
    if (void* memory = std::malloc(bytes)) {
        allocated_bytes += malloc_usable_size(memory);
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    if (memory != nullptr) allocated_bytes -= malloc_usable_size(memory);
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

/// One engine connected to `peers` others; those are one engine again, whose address all of them share.
template <class MakeDevice>
std::size_t bytes_for(std::uint32_t peers, MakeDevice make_device, const msg::EngineOptions& wanted) {
    sim::Fabric fabric(1);
    mem::Spaces spaces("off");
    const std::unique_ptr<wire::Device> device = make_device(fabric, 0u);
    const std::unique_ptr<wire::Device> others = make_device(fabric, 1u);
    msg::EngineOptions options = wanted;
    options.size = 2;
    options.rank = 1;
    const msg::Engine other(*others, spaces, options);
    const wire::Address address = other.address_for(0);
    options.size = peers + 1;
    options.rank = 0;
    const std::size_t before = allocated_bytes;
    msg::Engine engine(*device, spaces, options);
    for (std::uint32_t peer = 1; peer <= peers; ++peer) engine.connect(peer, address);
    return allocated_bytes - before;
}

/// Bytes that one more peer costs, fixed costs left out.
template <class MakeDevice>
std::size_t bytes_a_peer(std::uint32_t few, std::uint32_t many, MakeDevice make_device,
                         const msg::EngineOptions& options) {
    return (bytes_for(many, make_device, options) - bytes_for(few, make_device, options)) / (many - few);
}

} // namespace

TEST_CASE("an idle peer costs less than 1 KiB over UD; 10,000 peers") {
    const auto ud = [](sim::Fabric& fabric, std::uint32_t rank) { return testing::reliable_device(fabric, rank, 1); };
    const std::size_t bytes = bytes_a_peer(100, 10'000, ud, {});
    WARN("UD: " << bytes << " bytes a peer with the default settings; fixed: " << bytes_for(100, ud, {}) / 1024
                << " KiB for 100 peers");
    CHECK(bytes < 1024);
}

TEST_CASE("the same over RC, with the smallest queues there are and with the default ones") {
    const auto rc = [](sim::Fabric& fabric, std::uint32_t) { return fabric.device({sim::mlx5_like(), {}}); };
    const std::size_t standard = bytes_a_peer(10, 40, rc, {});
    msg::EngineOptions smallest;
    smallest.receive_window = 1;
    smallest.send_depth = 1;
    smallest.eager_limit = 64;
    const std::size_t least = bytes_a_peer(100, 10'000, rc, smallest);
    WARN("RC: " << standard << " bytes a peer with the default settings (40 peers), " << least
                << " with a window and a depth of 1 and messages of 64 bytes (10,000 peers)");
    CHECK(standard > 1024 * 100); // what UD is for
    CHECK(least > 1024);
}
