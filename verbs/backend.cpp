#include "verbs/backend.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "verbs/device.hpp"
#include "verbs/enumerate.hpp"
#include "verbs/gid_rules.hpp"

namespace verbena::verbs {
namespace {

class Backend final : public wire::Backend {
  public:
    std::string_view name() const override { return backend_name; }

    BackendInfo probe() const override {
        const Census census = take_census();
        const auto usable = std::count_if(census.devices.begin(), census.devices.end(),
                                          [](const DeviceInfo& device) { return device.problem.empty(); });
        if (usable == 0) return {std::string(backend_name), false, census.missing_link};
        return {std::string(backend_name), true,
                fmt::format("libibverbs {}, {} of {} devices usable", VERBENA_LIBIBVERBS_VERSION, usable,
                            census.devices.size())};
    }

    std::vector<DeviceInfo> enumerate() const override { return take_census().devices; }

    std::vector<Selection> candidates(std::span<const DeviceInfo> devices, const Settings& settings,
                                      std::vector<Rejection>& rejected) const override {
        return verbs::candidates(devices, settings, rejected);
    }

    std::unique_ptr<wire::Device> open(const Selection& selection, const Settings&) const override {
        return open_device(selection);
    }
};

} // namespace

const wire::Backend& verbs_backend() {
    static const Backend instance;
    return instance;
}

} // namespace verbena::verbs
