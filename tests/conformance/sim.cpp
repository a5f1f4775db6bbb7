/// The suite on the simulated NIC, once for each personality.
#include "catch.hpp"

#include "fixture.hpp"
#include "sim/fabric.hpp"

namespace verbena::conformance {

Pair make_pair() {
    sim::DeviceOptions options;
    options.personality = GENERATE(sim::mlx5_like(), sim::rxe_like(), sim::rdm_like(), sim::adversary());
    // What no conforming device does: the suite asks for more than that.
    options.personality.faults.refuse_post = 0;
    options.personality.withholds_a_flush = false;
    const auto fabric = std::make_shared<sim::Fabric>(1);
    return {[fabric] { fabric->step(); }, fabric->device(options), fabric->device(options), {}};
}

} // namespace verbena::conformance
