/// The suite on the simulated NIC, once for each personality.
#include "catch.hpp"

#include <array>

#include "fixture.hpp"
#include "sim/fabric.hpp"

namespace verbena::conformance {
namespace {

/// Messages and nothing else: one-sided operations are the engines' work.
sim::Personality without_rma() {
    sim::Personality made = sim::rdm_like();
    made.name = "rdm_like without RMA";
    made.capabilities.rdma_read = made.capabilities.rdma_write = made.capabilities.atomics = false;
    made.capabilities.write_with_imm = made.capabilities.native_fence = false;
    return made;
}

/// RDMA by the device, atomics by the engines.
sim::Personality without_atomics() {
    sim::Personality made = sim::mlx5_like();
    made.name = "mlx5_like without atomics";
    made.capabilities.atomics = false;
    return made;
}

/// WRITEs overtake each other, as with adaptive routing.
sim::Personality reordering_writes() {
    sim::Personality made = sim::mlx5_like();
    made.name = "mlx5_like that reorders writes";
    made.capabilities.ordered_writes = false;
    made.max_write_delay_ns = 4000;
    return made;
}

} // namespace

Pair make_pair() {
    static const std::array personalities{sim::mlx5_like(), sim::rxe_like(),   sim::rdm_like(),    sim::adversary(),
                                          without_rma(),    without_atomics(), reordering_writes()};
    sim::DeviceOptions options;
    options.personality = personalities[GENERATE(range(0u, static_cast<unsigned>(personalities.size())))];
    // What no conforming device does: the suite asks for more than that.
    options.personality.faults.refuse_post = 0;
    options.personality.withholds_a_flush = false;
    const auto fabric = std::make_shared<sim::Fabric>(1);
    return {[fabric] { fabric->step(); }, fabric->device(options), fabric->device(options), false, {}};
}

} // namespace verbena::conformance
