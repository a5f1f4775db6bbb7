#include "gpu.hpp"

#include <array>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "cuda_error.hpp"
#include "mem/nic_access.hpp"

namespace verbena::gpudirect {
namespace {

int visible_gpus() {
    int count = 0;
    check(cuDeviceGetCount(&count), [] { return "cuDeviceGetCount"; });
    return count;
}

OpenGpu open(int gpu) {
    OpenGpu opened;
    CUdevice device = 0;
    check(cuDeviceGet(&device, gpu), "cuDeviceGet", gpu);
    check(cuDeviceGetAttribute(&opened.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
          "cuDeviceGetAttribute", gpu);
    check(cuDevicePrimaryCtxRetain(&opened.context, device), "cuDevicePrimaryCtxRetain", gpu);
    check(cuCtxPushCurrent(opened.context), "cuCtxPushCurrent", gpu);
    const cudaError_t made = cudaStreamCreateWithFlags(&opened.stream, cudaStreamNonBlocking);
    cuCtxPopCurrent(nullptr);
    check(made, "cudaStreamCreateWithFlags", gpu);
    return opened;
}

/// Opened once each. Thread-safe.
const OpenGpu& opened(int gpu) {
    struct Slot {
        std::once_flag once;
        OpenGpu gpu;
    };
    static std::vector<Slot> slots(static_cast<std::size_t>(visible_gpus()));
    if (gpu < 0 || static_cast<std::size_t>(gpu) >= slots.size()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("there is no cuda:{}: this process sees {} GPU(s), counted from 0", gpu, slots.size()),
                    "see nvidia-smi -L and CUDA_VISIBLE_DEVICES");
    }
    Slot& slot = slots[static_cast<std::size_t>(gpu)];
    std::call_once(slot.once, [&] { slot.gpu = open(gpu); });
    return slot.gpu;
}

std::string spell(const GpuUuid& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", std::to_integer<unsigned>(uuid[i]));
    }
    return text;
}

/// 0 where the driver does not know the attribute.
int attribute(CUdevice device, CUdevice_attribute which) {
    int value = 0;
    return cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

void describe_nic_access(CUdevice device, GpuInfo& gpu) {
    const mem::NicAccess access = mem::read_nic_access("/", gpu.pci_address);
    gpu.bar1_bytes = access.bar1_bytes;
    gpu.warnings = mem::warnings(access);
    gpu.nic_writes =
        mem::name(mem::flush_plan(attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING),
                                  attribute(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS), false));
    gpu.registration = fmt::format("staged through pinned host memory: this version registers no GPU memory with a NIC "
                                   "(dma-buf {}, nvidia-peermem {})",
                                   gpu.dma_buf ? "exported by the driver" : "not exported by the driver",
                                   access.peer_memory ? "loaded" : "not loaded");
}

} // namespace

GpuUuid uuid_of(int gpu) {
    CUdevice device = 0;
    check(cuDeviceGet(&device, gpu), "cuDeviceGet", gpu);
    CUuuid raw{};
    check(cuDeviceGetUuid(&raw, device), "cuDeviceGetUuid", gpu);
    GpuUuid uuid;
    std::memcpy(uuid.data(), raw.bytes, uuid.size());
    return uuid;
}

int gpu_of(const GpuUuid& uuid) {
    for (int gpu = 0; gpu < visible_gpus(); ++gpu) {
        if (uuid_of(gpu) == uuid) return gpu;
    }
    throw Error(ErrorCode::unavailable, fmt::format("{} is not visible to this process", spell(uuid)),
                "give every rank of the host the same CUDA_VISIBLE_DEVICES, or set gpu-ipc=off");
}

std::vector<GpuInfo> list_gpus() {
    std::vector<GpuInfo> gpus;
    for (int ordinal = 0; ordinal < visible_gpus(); ++ordinal) {
        CUdevice device = 0;
        check(cuDeviceGet(&device, ordinal), "cuDeviceGet", ordinal);
        std::array<char, 256> name{};
        check(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName", ordinal);
        std::size_t bytes = 0;
        check(cuDeviceTotalMem(&bytes, device), "cuDeviceTotalMem", ordinal);
        int dma_buf = 0;
        // A driver from before CUDA 11.7 does not know the attribute: then it cannot do it either.
        if (cuDeviceGetAttribute(&dma_buf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device) != CUDA_SUCCESS) dma_buf = 0;
        std::array<char, 32> bus{};
        check(cuDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device), "cuDeviceGetPCIBusId", ordinal);
        gpus.push_back({ordinal, name.data(), bytes, dma_buf != 0, spell(uuid_of(ordinal)), bus.data(), 0, {}, {}});
        describe_nic_access(device, gpus.back());
    }
    return gpus;
}

CurrentGpu::CurrentGpu(int gpu) : open_(opened(gpu)) {
    check(cuCtxPushCurrent(open_.context), "cuCtxPushCurrent", gpu);
}

CurrentGpu::~CurrentGpu() { cuCtxPopCurrent(nullptr); }

} // namespace verbena::gpudirect
