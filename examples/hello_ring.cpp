// Every rank greets its neighbour, then all add up a vector. Run it with: verbena run -n 4 -- hello_ring
#include <cstdio>
#include <vector>

#include <verbena/verbena.hpp>

int main() try {
    verbena::Runtime runtime;
    const std::uint32_t rank = runtime.rank();
    const std::uint32_t ranks = runtime.size();

    if (ranks > 1) {
        const std::uint32_t greeting = 100 + rank;
        std::uint32_t heard = 0;
        auto receive =
            runtime.endpoint((rank + ranks - 1) % ranks).receive(std::as_writable_bytes(std::span(&heard, 1)));
        auto send = runtime.endpoint((rank + 1) % ranks).send(std::as_bytes(std::span(&greeting, 1)));
        for (auto* operation : {&receive, &send}) {
            if (const verbena::Status status = operation->wait(); !status.ok()) {
                throw verbena::Error(status.code, describe(status));
            }
        }
        std::printf("rank %u of %u heard %u over %s\n", rank, ranks, heard, runtime.selection().device.c_str());
    }

    std::vector<float> numbers(1 << 20, static_cast<float>(rank + 1));
    const verbena::Status status = runtime.world().all_reduce(numbers.data(), numbers.data(), numbers.size()).wait();
    std::printf("rank %u: the sum is %.0f (%s)\n", rank, numbers[12345], describe(status).c_str());
    return status.ok() ? 0 : 1;
} catch (const verbena::Error& error) {
    std::fprintf(stderr, "hello_ring: %s\n%s\n", error.what(), error.advice().c_str());
    return 1;
}
