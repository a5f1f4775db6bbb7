#include "catch.hpp"

#include <cstdlib>
#include <memory>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include "gpu_fixture.hpp"

using namespace verbena;
using namespace verbena::test;

namespace {

void check_usable(const void* pointer, MemoryKind kind, int gpu) {
    const mem::Classification found = spaces().classify(pointer);
    CHECK(name(found.kind) == name(kind));
    CHECK(found.gpu == gpu);
    CHECK(found.problem.empty());
}

void check_unusable(const void* pointer, const char* advice) {
    const mem::Classification found = spaces().classify(pointer);
    CHECK_THAT(found.problem, VERBENA_CONTAINS(advice));
}

} // namespace

TEST_CASE("memory that CUDA never saw is host memory") {
    const int on_stack = 0;
    static int in_program = 0;
    const auto on_heap = std::make_unique<std::byte[]>(1 << 20);
    check_usable(&on_stack, MemoryKind::host, -1);
    check_usable(&in_program, MemoryKind::host, -1);
    check_usable(on_heap.get(), MemoryKind::host, -1);
    check_usable(on_heap.get() + (1 << 20) - 1, MemoryKind::host, -1);
    check_usable(nullptr, MemoryKind::host, -1);
}

TEST_CASE("memory from CUDA is told by kind and GPU, at its base and inside") {
    const MemoryKind kind = GENERATE(MemoryKind::pinned, MemoryKind::device, MemoryKind::managed);
    const std::size_t bytes = GENERATE(as<std::size_t>{}, 1, 4097, 8 << 20);
    const Buffer buffer(kind, bytes);
    for (const std::size_t offset : {std::size_t{0}, bytes / 2, bytes - 1})
        check_usable(buffer.data() + offset, kind, 0);
}

TEST_CASE("registered host memory is pinned while it is registered") {
    constexpr std::size_t bytes = 1 << 16;
    void* memory = std::aligned_alloc(4096, bytes);
    REQUIRE(cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess);
    check_usable(memory, MemoryKind::pinned, 0);
    REQUIRE(cudaHostUnregister(memory) == cudaSuccess);
    check_usable(memory, MemoryKind::host, -1);
    std::free(memory);
}

TEST_CASE("device memory after cudaFree is no host memory") {
    const std::size_t bytes = GENERATE(as<std::size_t>{}, 1, 64 << 20);
    std::byte* memory = spaces().space(MemoryKind::device).allocate(bytes, 0);
    check_usable(memory, MemoryKind::device, 0);
    spaces().space(MemoryKind::device).release(memory);
    check_unusable(memory, "it was freed");
    check_unusable(memory + bytes - 1, "it was freed");
}

TEST_CASE("host memory that CUDA took back is either refused or can be read") {
    const MemoryKind kind = GENERATE(MemoryKind::pinned, MemoryKind::managed);
    const std::size_t bytes = GENERATE(as<std::size_t>{}, 1, 64 << 20);
    std::byte* memory = spaces().space(kind).allocate(bytes, 0);
    spaces().space(kind).release(memory);
    const mem::Classification found = spaces().classify(memory);
    CHECK(name(found.kind) == name(MemoryKind::host));
    if (found.problem.empty()) CHECK_NOTHROW(*static_cast<const volatile std::byte*>(memory));
}

TEST_CASE("an address that nothing is mapped at is refused, and forgotten once something is") {
    constexpr std::size_t bytes = 1 << 16;
    void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    check_unusable(memory, "cudaMalloc");
    REQUIRE(mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0);
    check_usable(memory, MemoryKind::host, -1);
    munmap(memory, bytes);
}

TEST_CASE("a reserved GPU address range without memory is refused") {
    using Reserve = CUresult (*)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long);
    using Free = CUresult (*)(CUdeviceptr, std::size_t);
    constexpr std::size_t bytes = 4 << 20;
    CUdeviceptr address = 0;
    REQUIRE(driver_function<Reserve>("cuMemAddressReserve")(&address, bytes, 0, 0, 0) == CUDA_SUCCESS);
    const mem::Classification found = spaces().classify(reinterpret_cast<void*>(address));
    WARN(found.problem);
    CHECK_FALSE(found.problem.empty());
    CHECK(driver_function<Free>("cuMemAddressFree")(address, bytes) == CUDA_SUCCESS);
}
