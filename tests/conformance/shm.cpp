/// The conformance suite on shared memory: two devices of one process, READ and WRITE by cross-memory attach and
/// through the ring.
#include "catch.hpp"

#include "fixture.hpp"
#include "shm/device.hpp"

namespace verbena::conformance {

Pair make_pair() {
    const auto remote_access = GENERATE(shm::RemoteAccess::attach_if_allowed, shm::RemoteAccess::through_the_ring);
    Pair pair;
    pair.a = std::make_unique<shm::Device>(remote_access);
    pair.b = std::make_unique<shm::Device>(remote_access);
    return pair;
}

} // namespace verbena::conformance
