#include "classify.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <cuda.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_error.hpp"

namespace verbena::gpudirect {
namespace {

/// What the driver says. Since CUDA 11 the query succeeds for any address: memory that CUDA does not know comes back as
/// type 0, ordinal negative. So the type decides, and never the error code alone.
struct Attributes {
    unsigned memory_type = 0; ///< CUmemorytype; 0: unregistered
    unsigned is_managed = 0;
    unsigned is_mapped = 0; ///< an address range that was only reserved is not
    unsigned is_plain = 0;  ///< from cudaMalloc: readable and writable as long as it is there
    int gpu = -1;
};

CUresult query(const void* pointer, Attributes& out) {
    std::array<CUpointer_attribute, 5> names = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                                CU_POINTER_ATTRIBUTE_MAPPED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    std::array<void*, 5> values = {&out.memory_type, &out.is_managed, &out.is_mapped, &out.gpu, &out.is_plain};
    return cuPointerGetAttributes(static_cast<unsigned>(names.size()), names.data(), values.data(),
                                  reinterpret_cast<CUdeviceptr>(pointer));
}

/// Asks the kernel to read 8 bytes there: it copies the signal set before it looks at `how`, so an unreadable address
/// answers EFAULT and a readable one EINVAL, and neither changes anything.
bool kernel_can_read(std::uintptr_t address) {
    constexpr std::size_t signal_set_bytes = 8; // the kernel's sigset_t, not the C library's
    constexpr int no_such_how = -1;
    const int before = errno;
    const auto* set = reinterpret_cast<const void*>(address & ~std::uintptr_t{signal_set_bytes - 1});
    const bool readable =
        syscall(SYS_rt_sigprocmask, no_such_how, set, nullptr, signal_set_bytes) == 0 || errno != EFAULT;
    errno = before;
    return readable;
}

/// Device memory after cudaFree is, to the driver, any unregistered address, though the CPU cannot touch it. The pages
/// found readable are remembered: host memory in use costs the system call once a page.
bool is_host_memory(const void* pointer) {
    constexpr unsigned page_bits = 12;
    constexpr std::size_t remembered = 256;
    thread_local std::array<std::uintptr_t, remembered> readable_pages{};
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t page = address >> page_bits;
    std::uintptr_t& slot = readable_pages[page % remembered];
    if (page == 0) return false; // nothing is there, and a null set would tell the kernel that none is given
    if (slot == page) return true;
    if (!kernel_can_read(address)) return false;
    slot = page;
    return true;
}

mem::Classification unusable(MemoryKind kind, int gpu, std::string problem) { return {kind, gpu, std::move(problem)}; }

mem::Classification classify_unregistered(const void* pointer) {
    // A null pointer goes with zero bytes; the call that has bytes for it refuses it.
    if (pointer == nullptr || is_host_memory(pointer)) return {};
    return unusable(
        MemoryKind::host, -1,
        fmt::format("{} is neither readable host memory nor memory that CUDA knows: it was freed, or belongs to "
                    "another process; allocate it with cudaMalloc, or map it with cudaIpcOpenMemHandle",
                    pointer));
}

/// Of what cuMemMap mapped and of memory pools: the driver knows their extent only once some GPU has access.
bool has_access(const void* pointer) {
    CUdeviceptr begin = 0; // asked for: with null the driver looks at nothing
    std::size_t bytes = 0;
    return cuMemGetAddressRange(&begin, &bytes, reinterpret_cast<CUdeviceptr>(pointer)) == CUDA_SUCCESS;
}

mem::Classification judge(const void* pointer, const Attributes& seen, CUresult result) {
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE) {
        const char* spelled = "an unknown error";
        cuGetErrorName(result, &spelled);
        return unusable(
            MemoryKind::host, -1,
            fmt::format("cuPointerGetAttributes for {} says {} ({}): the CUDA driver no longer answers, restart the "
                        "process",
                        pointer, spelled, static_cast<int>(result)));
    }
    // Drivers before CUDA 11 say invalid value where later ones say type 0.
    if (result == CUDA_ERROR_INVALID_VALUE || seen.memory_type == 0) return classify_unregistered(pointer);
    if (seen.is_managed != 0) return {MemoryKind::managed, seen.gpu, {}};
    switch (seen.memory_type) {
    case CU_MEMORYTYPE_HOST:
        return {MemoryKind::pinned, seen.gpu, {}};
    case CU_MEMORYTYPE_DEVICE:
        if (seen.is_mapped != 0 && (seen.is_plain != 0 || has_access(pointer)))
            return {MemoryKind::device, seen.gpu, {}};
        if (seen.is_mapped != 0) {
            return unusable(MemoryKind::device, seen.gpu,
                            fmt::format("{} is mapped and no GPU may use it; call cuMemSetAccess first", pointer));
        }
        return unusable(MemoryKind::device, seen.gpu,
                        fmt::format("{} lies in a reserved address range without memory behind it; call cuMemMap and "
                                    "cuMemSetAccess first",
                                    pointer));
    default:
        return unusable(
            MemoryKind::device, seen.gpu,
            fmt::format("{} is of CUDA memory type {}, which has no linear addresses; copy it to memory from "
                        "cudaMalloc first",
                        pointer, seen.memory_type));
    }
}

} // namespace

mem::Classification classify(const void* pointer) {
    Attributes seen;
    const CUresult result = query(pointer, seen);
    return judge(pointer, seen, result);
}

} // namespace verbena::gpudirect
