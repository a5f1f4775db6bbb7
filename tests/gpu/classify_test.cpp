#include "catch.hpp"

#include <cstdlib>
#include <memory>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <verbena/error.hpp>

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

TEST_CASE("mapped physical memory is usable from the moment a GPU has access, over every piece and to its last byte") {
    const auto create = driver_function<decltype(&cuMemCreate)>("cuMemCreate");
    const auto reserve = driver_function<decltype(&cuMemAddressReserve)>("cuMemAddressReserve");
    const auto map = driver_function<decltype(&cuMemMap)>("cuMemMap");
    const auto set_access = driver_function<decltype(&cuMemSetAccess)>("cuMemSetAccess");
    const auto unmap = driver_function<decltype(&cuMemUnmap)>("cuMemUnmap");
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    constexpr std::size_t piece = 2 << 20;
    CUdeviceptr address = 0;
    REQUIRE(reserve(&address, 3 * piece, 0, 0, 0) == CUDA_SUCCESS);
    CUmemGenericAllocationHandle pieces[2] = {};
    for (std::size_t i = 0; i < 2; ++i) {
        REQUIRE(create(&pieces[i], piece, &wanted, 0) == CUDA_SUCCESS);
        REQUIRE(map(address + i * piece, piece, 0, pieces[i], 0) == CUDA_SUCCESS);
    }
    auto* memory = reinterpret_cast<std::byte*>(address);
    check_unusable(memory + 8, "cuMemSetAccess");
    CUmemAccessDesc access{};
    access.location = wanted.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REQUIRE(set_access(address, 2 * piece, &access, 1) == CUDA_SUCCESS);
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, piece - 1, piece, 2 * piece - 1})
        check_usable(memory + offset, MemoryKind::device, 0);
    check_unusable(memory + 2 * piece, "neither readable host memory"); // the hole at the end of the reservation

    const std::vector<std::byte> sent = random_bytes(100, 1); // across the border of the two
    mem::Space& device = spaces().space(MemoryKind::device);
    device.copy(memory + piece - 4, sent.data(), sent.size());
    std::vector<std::byte> back(sent.size());
    device.copy(back.data(), memory + piece - 4, back.size());
    CHECK(back == sent);
    CHECK_FALSE(spaces().share(memory).has_value()); // not by the legacy kind of handle
    REQUIRE(unmap(address, 2 * piece) == CUDA_SUCCESS);
    check_unusable(memory, "neither readable host memory");
    for (const CUmemGenericAllocationHandle each : pieces)
        CHECK(driver_function<decltype(&cuMemRelease)>("cuMemRelease")(each) == CUDA_SUCCESS);
    CHECK(driver_function<decltype(&cuMemAddressFree)>("cuMemAddressFree")(address, 3 * piece) == CUDA_SUCCESS);
}

TEST_CASE("memory of a stream-ordered pool is device memory until it is given back") {
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    void* memory = nullptr;
    REQUIRE(cudaMallocAsync(&memory, 1 << 20, stream) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    check_usable(static_cast<std::byte*>(memory) + (1 << 20) - 1, MemoryKind::device, 0);
    CHECK_FALSE(spaces().share(static_cast<std::byte*>(memory)).has_value());
    REQUIRE(cudaFreeAsync(memory, stream) == cudaSuccess);
    check_unusable(memory, "it was freed");
    cudaStreamDestroy(stream);
}

TEST_CASE("device memory is shared by allocation and offset, and a copy within its own process needs no mapping") {
    const Buffer buffer(MemoryKind::device, 4096);
    const std::vector<std::byte> sent = random_bytes(100, 2);
    buffer.write(4, sent);
    const auto shared = spaces().share(buffer.data() + 4);
    REQUIRE(shared.has_value());
    CHECK(shared->offset == 4);
    CHECK(shared->bytes >= 4096);
    std::vector<std::byte> back(100);
    spaces().copy_shared(back.data(), *shared, back.size());
    CHECK(back == sent);
    CHECK_THROWS_AS(spaces().copy_shared(back.data(), *shared, shared->bytes), Error); // beyond the allocation
    const Buffer host(MemoryKind::host, 64);
    const Buffer managed(MemoryKind::managed, 64);
    CHECK_FALSE(spaces().share(host.data()).has_value());
    CHECK_FALSE(spaces().share(managed.data()).has_value());
}
