#include "ofi/backend.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <verbena/error.hpp>
#include <verbena/settings.hpp>

#include "ofi/device.hpp"
#include "ofi/enumerate.hpp"
#include "ofi/selection.hpp"
#include "ofi/source_address.hpp"

namespace verbena::ofi {
namespace {

bool is_usable(const DeviceInfo& device) { return device.problem.empty(); }

class OfiBackend final : public wire::Backend {
  public:
    [[nodiscard]] std::string_view name() const override { return "ofi"; }

    [[nodiscard]] BackendInfo probe() const override {
        const std::vector<DeviceInfo> devices = enumerate();
        const bool usable = std::any_of(devices.begin(), devices.end(), is_usable);
        const std::uint32_t version = fi_version();
        const std::string library = fmt::format("libfabric {}.{}", FI_MAJOR(version), FI_MINOR(version));
        return {"ofi", usable,
                usable
                    ? fmt::format("{}: {}", library, names_of(devices))
                    : fmt::format("{} has no provider with reliable datagram endpoints, messages and RMA; `fi_info -t "
                                  "FI_EP_RDM` lists what it has, and the variable FI_PROVIDER must not exclude it",
                                  library)};
    }

    [[nodiscard]] std::vector<DeviceInfo> enumerate() const override { return enumerate_devices(); }

    [[nodiscard]] std::vector<Selection> candidates(std::span<const DeviceInfo> devices, const Settings& settings,
                                                    std::vector<Rejection>& rejected) const override {
        return choose_devices(devices, settings, rejected);
    }

    [[nodiscard]] std::unique_ptr<wire::Device> open(const Selection& selection,
                                                     const Settings& settings) const override {
        const std::vector<DeviceInfo> devices = enumerate();
        const DeviceInfo* device = find_device(devices, selection.device);
        if (device == nullptr) {
            throw Error(ErrorCode::unavailable, fmt::format("libfabric has no provider \"{}\" here", selection.device),
                        "choose one of: " + names_of(devices));
        }
        if (!is_usable(*device)) {
            throw Error(ErrorCode::unavailable,
                        fmt::format("libfabric provider {} {}", device->driver, device->problem));
        }
        return open_device(*device, settings);
    }
};

} // namespace

const wire::Backend& ofi_backend() {
    static const OfiBackend instance;
    return instance;
}

} // namespace verbena::ofi
