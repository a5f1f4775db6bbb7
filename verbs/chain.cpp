#include "verbs/chain.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace verbena::verbs {
namespace {

namespace fs = std::filesystem;

/// Kernel drivers whose user-space provider has another name.
std::string_view provider_of(std::string_view driver) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> renamed = {{{"mlx5_core", "mlx5"},
                                                                                       {"mlx4_core", "mlx4"},
                                                                                       {"bnxt_en", "bnxt_re"},
                                                                                       {"hns3", "hns"},
                                                                                       {"i40e", "irdma"},
                                                                                       {"ice", "irdma"},
                                                                                       {"qede", "qedr"},
                                                                                       {"hfi1", "hfi1verbs"}}};
    for (const auto& [kernel, user] : renamed) {
        if (kernel == driver) return user;
    }
    return driver;
}

bool has_provider(const std::string& directory, std::string_view provider) {
    std::error_code error;
    const std::string prefix = fmt::format("lib{}-rdmav", provider);
    for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
        if (at->path().filename().string().starts_with(prefix)) return true;
    }
    return false;
}

std::string missing_provider(const Roots& roots, const DeviceInfo& device, const std::string& uverbs,
                             const LibraryView& library) {
    const std::string_view provider = provider_of(device.driver);
    if (!library.provider_directory.empty() && !has_provider(library.provider_directory, provider)) {
        return fmt::format(
            "the kernel has it, but {} holds no user-space provider for {}: install rdma-core's providers "
            "(ibverbs-providers) in this image",
            library.provider_directory, provider);
    }
    const std::string abi = read_line(fmt::format("{}/class/infiniband_verbs/{}/abi_version", roots.sys, uverbs));
    return fmt::format(
        "the kernel has it with ABI version {}, which the {} provider of libibverbs {} does not support "
        "(libibverbs writes the versions that it does on stderr): install in this image the rdma-core that "
        "came with the host's driver",
        abi.empty() ? "unknown" : abi, provider, VERBENA_LIBIBVERBS_VERSION);
}

} // namespace

std::string missing_class(const Roots& roots) {
    if (!has_device_class(roots)) {
        return fmt::format("no RDMA device found: {}/class/infiniband is absent, so no RDMA kernel module is loaded "
                           "(modprobe ib_uverbs and the NIC's module, or rdma_rxe for Soft-RoCE)",
                           roots.sys);
    }
    if (device_names(roots).empty()) {
        return fmt::format(
            "no RDMA device found: {}/class/infiniband is empty, so the modules are loaded and have found "
            "no device (lspci for a NIC; `rdma link add rxe0 type rxe netdev NAME` for Soft-RoCE)",
            roots.sys);
    }
    return {};
}

std::string missing_link(const Roots& roots, const DeviceInfo& device, const LibraryView& library) {
    if (is_iwarp(roots, device.name)) {
        return "it is iWARP, which connects through the connection manager only; this backend connects InfiniBand and "
               "RoCE "
               "(libfabric's verbs provider reaches it: wire ofi)";
    }
    const std::string uverbs = uverbs_name(roots, device.name);
    if (uverbs.empty()) {
        return fmt::format("the kernel has it, but {}/class/infiniband_verbs has no entry for it: modprobe ib_uverbs",
                           roots.sys);
    }
    const std::string node = fmt::format("{}/infiniband/{}", roots.dev, uverbs);
    if (access(node.c_str(), F_OK) != 0) {
        return fmt::format("present, but its device node {} is missing: give it to the container "
                           "(--device={} with docker or podman)",
                           node, node);
    }
    if (eaccess(node.c_str(), R_OK | W_OK) != 0) {
        return fmt::format("no permission to open {} ({}): `ls -l {}` shows whose it is; udev gives mode 0666", node,
                           std::strerror(errno), node);
    }
    return library.lists_device ? std::string() : missing_provider(roots, device, uverbs, library);
}

} // namespace verbena::verbs
