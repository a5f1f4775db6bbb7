/// The suite on messages over UD queue pairs of two RDMA devices of this machine, chosen as verbs.cpp does.
#include "fixture.hpp"

#include <chrono>

#include "reliable/device.hpp"
#include "verbs_devices.hpp"

namespace verbena::conformance {
namespace {

std::unique_ptr<wire::Device> open(Selection selection, std::uint32_t rank) {
    selection.transport = "ud";
    reliable::Options options;
    options.clock = [] {
        return static_cast<reliable::Time>(std::chrono::steady_clock::now().time_since_epoch().count());
    };
    options.rank = rank;
    options.seed = rank + 1;
    return std::make_unique<reliable::Device>(verbs::verbs_backend().open(selection, Settings()), options);
}

} // namespace

Pair make_pair() {
    Pair pair;
    const std::vector<Selection> devices = two_verbs_devices(pair.skip_reason);
    if (!pair.skip_reason.empty()) return pair;
    pair.is_one_rank_each = true;
    pair.a = open(devices.front(), 0);
    pair.b = open(devices[devices.size() > 1 ? 1 : 0], 1);
    return pair;
}

} // namespace verbena::conformance
