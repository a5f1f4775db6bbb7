#include "catch.hpp"

#include <string>
#include <thread>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <verbena/error.hpp>

#include "gpu_fixture.hpp"
#include "mem/plugin.hpp"

using namespace verbena;
using namespace verbena::test;

TEST_CASE("the plug-in says what it is and lists every GPU with its memory") {
    CHECK_THAT(spaces().note(), VERBENA_CONTAINS("CUDA ") && VERBENA_CONTAINS("libverbena-cuda.so"));
    const std::vector<GpuInfo> gpus = spaces().gpus();
    REQUIRE_FALSE(gpus.empty());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        WARN("cuda:" << i << " " << gpus[i].name << ", " << (gpus[i].memory_bytes >> 20) << " MiB, dma-buf "
                     << (gpus[i].dma_buf ? "yes" : "no"));
        CHECK(gpus[i].ordinal == static_cast<int>(i));
        CHECK_FALSE(gpus[i].name.empty());
        CHECK(gpus[i].memory_bytes > (std::uint64_t{1} << 30));
    }
}

TEST_CASE("only pinned memory counts as reachable by CPU and NIC") {
    const auto [kind, reachable] = GENERATE(table<MemoryKind, bool>({{MemoryKind::host, true},
                                                                     {MemoryKind::pinned, true},
                                                                     {MemoryKind::device, false},
                                                                     {MemoryKind::managed, false}}));
    CHECK(spaces().space(kind).kind() == kind);
    CHECK(spaces().space(kind).is_host_accessible() == reachable);
}

TEST_CASE("an allocation that cannot be met says what was asked, what is free, and what to do") {
    constexpr std::size_t pebibyte = std::size_t{1} << 50;
    const MemoryKind kind = GENERATE(MemoryKind::device, MemoryKind::pinned);
    try {
        spaces().space(kind).release(spaces().space(kind).allocate(pebibyte, 0));
        FAIL("allocated");
    } catch (const Error& error) {
        WARN(error.what());
        CHECK(error.code() == ErrorCode::exhausted);
        CHECK(error.cause() == Cause{Origin::cuda, 2, 0});
        CHECK_THAT(error.what(), VERBENA_CONTAINS("1125899906842624 bytes") && VERBENA_CONTAINS("cuda:0"));
        CHECK_FALSE(error.advice().empty());
        if (kind == MemoryKind::device) CHECK_THAT(error.what(), VERBENA_CONTAINS("free of"));
    }
    const Buffer next(kind, 1); // and the refusal leaves nothing behind
}

TEST_CASE("a GPU that is not there is refused by number") {
    const MemoryKind kind = GENERATE(MemoryKind::device, MemoryKind::pinned, MemoryKind::managed);
    const int gpu = GENERATE(-1, 63, 1000);
    try {
        spaces().space(kind).release(spaces().space(kind).allocate(1, gpu));
        FAIL("allocated");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_THAT(error.what(), VERBENA_CONTAINS("there is no cuda:" + std::to_string(gpu)));
    }
}

TEST_CASE("a thread without a CUDA context has none after our calls, and one with a context keeps it") {
    using GetCurrent = CUresult (*)(CUcontext*);
    const auto get_current = driver_function<GetCurrent>("cuCtxGetCurrent");
    const auto current_after_calls = [&] {
        mem::Space& device = spaces().space(MemoryKind::device);
        std::byte* memory = device.allocate(64, 0);
        std::byte host[64] = {};
        device.copy(memory, host, sizeof host);
        device.release(memory);
        CUcontext current = nullptr;
        get_current(&current);
        return current;
    };
    CUcontext with_none = nullptr;
    std::thread([&] { with_none = current_after_calls(); }).join();
    CHECK(with_none == nullptr);

    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    CUcontext before = nullptr;
    get_current(&before);
    CHECK(before != nullptr);
    CHECK(current_after_calls() == before);
}
