#include <verbena/lab.hpp>

#include "api/backends.hpp"
#include "lab/lab.hpp"
#include "wire/backend.hpp"

namespace verbena::lab {

Report run(const Request& request, const Settings& settings) {
    if (!settings.is_set("device") && settings.text("wire") == "auto") return play(request, {});
    Settings both_here = settings; // both ends are this process, so that devices of one host are candidates too
    for (const char* name : {"size", "local-size"}) both_here.set(name, "2", Source::launcher, "verbena qp lab");
    register_backends();
    const Selection selection = select_device(take_inventory(), both_here);
    return play(request, [&] { return wire::backend(selection.backend).open(selection, both_here); });
}

} // namespace verbena::lab
