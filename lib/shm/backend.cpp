#include "shm/backend.hpp"

#include <sys/prctl.h>

#include <fmt/format.h>

#include <verbena/error.hpp>
#include <verbena/settings.hpp>

#include "shm/device.hpp"
#include "shm/inbound.hpp"
#include "wire/placement.hpp"

namespace verbena::shm {
namespace {

constexpr const char* device_name = "shm";

/// Makes what a queue pair needs and maps it as a peer would. Empty when that works.
std::string problem_here() {
    if (::prctl(PR_GET_DUMPABLE) != 1) {
        return "the process is not dumpable (set-user-ID, or prctl): peers may not open its memory";
    }
    try {
        const ProcessId process = own_process();
        const Segment made("verbena-probe", slots_offset, Segment::Sharing::read_write);
        const Segment seen(process.pid, made.fd(), slots_offset, Segment::Sharing::read_write);
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

class ShmBackend final : public wire::Backend {
  public:
    [[nodiscard]] std::string_view name() const override { return "shm"; }

    [[nodiscard]] BackendInfo probe() const override {
        const std::string problem = problem_here();
        return {"shm", problem.empty(),
                problem.empty() ? "memfd segments, cross-memory attach where the kernel allows" : problem};
    }

    [[nodiscard]] std::vector<DeviceInfo> enumerate() const override {
        DeviceInfo device;
        device.backend = "shm";
        device.name = device_name;
        device.driver = "memfd";
        device.same_host_only = true;
        device.limits.max_message_bytes = max_message_bytes;
        device.limits.max_completions = max_completions;
        device.limits.max_read_atomic = device.limits.max_read_atomic_initiator = 1;
        device.problem = problem_here();
        return {device};
    }

    [[nodiscard]] std::vector<Selection> candidates(std::span<const DeviceInfo> devices, const Settings& settings,
                                                    std::vector<Rejection>& rejected) const override {
        const wire::Placement placement = wire::placement_of(settings);
        const std::string wanted = settings.text("device");
        std::vector<Selection> chosen;
        for (const DeviceInfo& device : devices) {
            const std::string what = fmt::format("{} ({})", device.name, device.driver); // libfabric has a "shm" too
            if (!wanted.empty() && wanted != device.name) {
                rejected.push_back({what, fmt::format("the setting device asks for {}", wanted)});
            } else if (!device.problem.empty()) {
                rejected.push_back({what, device.problem});
            } else if (wanted.empty() && !placement.all_here) {
                rejected.push_back({what, wire::reaches_this_host_only(placement)});
            } else {
                Selection selection;
                selection.backend = device.backend;
                selection.device = device.name;
                selection.reason =
                    wanted.empty() ? placement.words : fmt::format("the setting device asks for {}", wanted);
                if (!placement.all_here) selection.warning = wire::reaches_this_host_only(placement);
                chosen.push_back(std::move(selection));
            }
        }
        return chosen;
    }

    [[nodiscard]] std::unique_ptr<wire::Device> open(const Selection& selection, const Settings&) const override {
        if (selection.device != device_name) {
            throw Error(ErrorCode::unavailable,
                        fmt::format("shared memory has one device, \"{}\", not \"{}\"", device_name, selection.device));
        }
        return std::make_unique<Device>();
    }
};

} // namespace

const wire::Backend& shm_backend() {
    static const ShmBackend instance;
    return instance;
}

} // namespace verbena::shm
