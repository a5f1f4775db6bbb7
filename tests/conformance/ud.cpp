/// The suite on messages over simulated datagrams: a quiet fabric, and one that loses, doubles and reorders.
#include "catch.hpp"

#include "datagrams.hpp"
#include "fixture.hpp"

namespace verbena::conformance {

Pair make_pair() {
    const bool quiet = GENERATE(true, false);
    sim::FabricOptions options;
    if (!quiet) {
        options.faults.drop = 0.1;
        options.faults.duplicate = 0.05;
        options.faults.reorder = 0.25;
    }
    const auto fabric = std::make_shared<sim::Fabric>(1, options);
    return {[fabric] { testing::step_or_wait(*fabric); },
            testing::reliable_device(*fabric, 0, 1),
            testing::reliable_device(*fabric, 1, 1),
            true,
            {}};
}

} // namespace verbena::conformance
