/// Every public call that takes a pointer, with every kind of memory: it works, or says which kind it was given.
#include "catch.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <cuda_runtime_api.h>
#include <verbena/verbena.hpp>

using namespace verbena;

namespace {

constexpr std::size_t bytes = 65536;

/// Memory of each kind, and two pointers that are none.
struct Pointers {
    void* heap = std::malloc(bytes);
    void* pinned = nullptr;
    void* managed = nullptr;
    void* device = nullptr;
    void* freed = nullptr;
    void* foreign = reinterpret_cast<void*>(std::uintptr_t{0x7}); // mapped nowhere

    Pointers() {
        REQUIRE(cudaHostAlloc(&pinned, bytes, 0) == cudaSuccess);
        REQUIRE(cudaMallocManaged(&managed, bytes) == cudaSuccess);
        REQUIRE(cudaMalloc(&device, bytes) == cudaSuccess);
        REQUIRE(cudaMalloc(&freed, std::size_t{64} << 20) == cudaSuccess);
        REQUIRE(cudaFree(freed) == cudaSuccess);
    }
    ~Pointers() {
        std::free(heap);
        cudaFreeHost(pinned);
        cudaFree(managed);
        cudaFree(device);
    }
};

template <class Call>
void refused(Call call) {
    try {
        call();
        FAIL("it was accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_THAT(error.what(), VERBENA_CONTAINS("neither readable host memory nor memory that CUDA knows"));
        CHECK_THAT(error.what(), VERBENA_CONTAINS("cudaMalloc"));
    }
}

} // namespace

TEST_CASE("every kind of memory can be registered, copied and reduced; what is none is refused by name") {
    Settings settings;
    settings.set("gpu", "required");
    Runtime runtime(settings);
    const Pointers pointers;
    for (void* memory : {pointers.heap, pointers.pinned, pointers.managed, pointers.device}) {
        auto* first = static_cast<std::byte*>(memory);
        const MemoryRegion region = runtime.register_memory({first, bytes});
        const char text[] = "a hundred bytes at offset 4";
        runtime.copy(first + 4, text, sizeof text);
        char back[sizeof text] = {};
        runtime.copy(back, first + 4, sizeof text);
        CHECK(std::string(back) == text);
        runtime.copy(first + bytes - 1, text, 1); // the last byte
        runtime.copy(back, first + bytes - 1, 1);
        CHECK(back[0] == 'a');
        const Status status = runtime.world().all_reduce(first, first, bytes / 4, DataType::f32, ReduceOp::avg).wait();
        CHECK(status.ok());
    }
    for (void* memory : {pointers.freed, pointers.foreign}) {
        auto* first = static_cast<std::byte*>(memory);
        char local[8] = {};
        refused([&] { runtime.copy(first, local, 8); });
        refused([&] { runtime.copy(local, first, 8); });
        refused([&] { (void)runtime.world().all_reduce(first, first, 2, DataType::f32, ReduceOp::sum); });
        refused([&] { (void)runtime.register_memory({first, 8}); });
    }
}
