/// The conformance suite on libfabric: two devices of one process, over TCP and over shared memory.
#include "catch.hpp"

#include <verbena/settings.hpp>

#include "fixture.hpp"
#include "ofi/backend.hpp"
#include "ofi/enumerate.hpp"

namespace verbena::conformance {

Pair make_pair() {
    const std::string name = GENERATE("tcp", "shm");
    const wire::Backend& backend = ofi::ofi_backend();
    Selection selection;
    selection.backend = backend.name();
    selection.device = name;
    Pair pair;
    if (ofi::find_device(backend.enumerate(), name) == nullptr) {
        pair.skip_reason = "libfabric has no provider \"" + name + "\" here";
        return pair;
    }
    pair.a = backend.open(selection, Settings());
    pair.b = backend.open(selection, Settings());
    return pair;
}

} // namespace verbena::conformance
