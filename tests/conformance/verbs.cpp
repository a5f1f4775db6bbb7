/// The conformance suite on RC queue pairs of two RDMA devices of this machine.
#include "fixture.hpp"

#include "verbs_devices.hpp"

namespace verbena::conformance {

Pair make_pair() {
    const wire::Backend& backend = verbs::verbs_backend();
    Pair pair;
    const std::vector<Selection> devices = two_verbs_devices(pair.skip_reason);
    if (!pair.skip_reason.empty()) return pair;
    pair.a = backend.open(devices.front(), Settings());
    pair.b = backend.open(devices[devices.size() > 1 ? 1 : 0], Settings());
    return pair;
}

} // namespace verbena::conformance
