#include "catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "gpu_fixture.hpp"

using namespace verbena;
using namespace verbena::test;

namespace {

/// Median seconds of one call, warm.
template <class Call>
double seconds(Call call) {
    std::vector<double> samples;
    for (int i = 0; i < 21; ++i) {
        const auto start = std::chrono::steady_clock::now();
        call();
        samples.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(samples.begin(), samples.begin() + 10, samples.end());
    return samples[10];
}

} // namespace

// Hidden: prints, and judges nothing. Run gpu_test "[.speed]".
TEST_CASE("what the plug-in's calls cost, from call to return", "[.speed]") {
    mem::Space& device = spaces().space(MemoryKind::device);
    std::vector<std::unique_ptr<Buffer>> buffers;
    constexpr std::size_t bytes = std::size_t{256} << 20;
    for (int i = 0; i < 9; ++i) buffers.push_back(std::make_unique<Buffer>(MemoryKind::device, bytes));
    for (const std::size_t inputs : {2u, 4u, 8u}) {
        std::vector<const std::byte*> pointers;
        for (std::size_t i = 0; i < inputs; ++i) pointers.push_back(buffers[i]->data());
        for (const std::size_t size : {std::size_t{4096}, std::size_t{1} << 20, bytes}) {
            const double time =
                seconds([&] { device.reduce(DataType::f32, ReduceOp::sum, buffers[8]->data(), pointers, size / 4); });
            std::printf("reduce %zu x %9zu B: %9.1f us, %7.1f GB/s read and written\n", inputs, size, time * 1e6,
                        static_cast<double>(size * (inputs + 1)) / time / 1e9);
        }
    }
    for (const MemoryKind kind : {MemoryKind::host, MemoryKind::pinned, MemoryKind::device}) {
        const Buffer other(kind, bytes);
        for (const std::size_t size : {std::size_t{8}, std::size_t{65536}, bytes}) {
            const double in = seconds([&] { device.copy(buffers[0]->data(), other.data(), size); });
            const double out = seconds([&] { device.copy(other.data(), buffers[0]->data(), size); });
            std::printf("copy %9zu B: %s to device %9.1f us, %7.1f GB/s; back %9.1f us, %7.1f GB/s\n", size,
                        name(kind).data(), in * 1e6, static_cast<double>(size) / in / 1e9, out * 1e6,
                        static_cast<double>(size) / out / 1e9);
        }
    }
    for (const MemoryKind kind : {MemoryKind::host, MemoryKind::pinned, MemoryKind::device, MemoryKind::managed}) {
        const Buffer memory(kind, 4096);
        constexpr int rounds = 1000;
        const double time = seconds([&] {
            for (int i = 0; i < rounds; ++i) (void)spaces().classify(memory.data());
        });
        std::printf("classify %s: %.0f ns\n", name(kind).data(), time / rounds * 1e9);
    }
}
