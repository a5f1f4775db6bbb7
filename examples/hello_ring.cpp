#include <cstdio>
#include <vector>

#include <verbena/verbena.hpp>

int main() try {
    verbena::Runtime runtime; // rank, size and store from verbena run, torchrun, Slurm or Open MPI
    const auto rank = runtime.rank(), ranks = runtime.size();

    if (ranks > 1) { // greet the neighbour
        const std::uint32_t greeting = 100 + rank;
        std::uint32_t heard = 0;
        auto receive =
            runtime.endpoint((rank + ranks - 1) % ranks).receive(std::as_writable_bytes(std::span(&heard, 1)));
        auto send = runtime.endpoint((rank + 1) % ranks).send(std::as_bytes(std::span(&greeting, 1)));
        if (!receive.wait().ok() || !send.wait().ok()) return 1;
        std::printf("rank %u heard %u over %s\n", rank, heard, runtime.selection().device.c_str());
    }

    std::vector<float> numbers(1 << 20, static_cast<float>(rank + 1)); // and add up
    const verbena::Status status = runtime.world().all_reduce(numbers.data(), numbers.data(), numbers.size()).wait();
    std::printf("rank %u: the sum is %.0f (%s)\n", rank, numbers[12345], describe(status).c_str());
    return status.ok() ? 0 : 1;
} catch (const verbena::Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.advice().c_str());
    return 1;
}
