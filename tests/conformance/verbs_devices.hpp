/// @file
/// Two RDMA devices of this machine for the suite: VERBENA_TEST_DEVICES ("rxe1,rxe2", with VERBENA_TEST_GID_INDEX where
/// the rule finds none), else the two that the automatic choice puts first; one device talks to itself.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <verbena/settings.hpp>

#include "verbs/backend.hpp"

namespace verbena::conformance {

inline std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

inline std::vector<Selection> select(const std::string& device, std::vector<Rejection>& rejected) {
    Settings settings;
    settings.set("device", device);
    settings.set("gid-index", variable("VERBENA_TEST_GID_INDEX"));
    const wire::Backend& backend = verbs::verbs_backend();
    return backend.candidates(backend.enumerate(), settings, rejected);
}

inline std::vector<Selection> two_devices(std::vector<Rejection>& rejected) {
    const std::string named = variable("VERBENA_TEST_DEVICES");
    const std::size_t comma = named.find(',');
    std::vector<Selection> devices = select(named.substr(0, comma), rejected);
    if (comma == std::string::npos) return devices;
    const std::vector<Selection> others = select(named.substr(comma + 1), rejected);
    if (devices.empty() || others.empty()) return {};
    return {devices.front(), others.front()};
}

/// Empty, with the reason, where there are none.
inline std::vector<Selection> two_verbs_devices(std::string& skip_reason) {
    const wire::Backend& backend = verbs::verbs_backend();
    if (const BackendInfo info = backend.probe(); !info.usable) {
        skip_reason = info.note;
        return {};
    }
    std::vector<Rejection> rejected;
    std::vector<Selection> devices = two_devices(rejected);
    if (devices.empty()) {
        skip_reason = "no port of an RDMA device can be used";
        for (const Rejection& each : rejected) skip_reason += "; " + each.what + ": " + each.reason;
    }
    return devices;
}

} // namespace verbena::conformance
