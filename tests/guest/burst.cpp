/// P04: rank 1 sends COUNT messages of 8 bytes and calls nothing else until all are on their way; rank 0 counts them.
/// usage: burst COUNT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <verbena/verbena.hpp>

namespace {

int receive_all(verbena::Endpoint from, std::uint64_t count) {
    for (std::uint64_t expected = 0; expected < count; ++expected) {
        std::uint64_t number = 0;
        const verbena::Status status = from.receive(std::as_writable_bytes(std::span(&number, 1))).wait();
        if (!status.ok() || number != expected) {
            std::fprintf(stderr, "message %llu: %s, it holds %llu\n", static_cast<unsigned long long>(expected),
                         describe(status).c_str(), static_cast<unsigned long long>(number));
            return 1;
        }
    }
    std::printf("%llu in order\n", static_cast<unsigned long long>(count));
    return 0;
}

int send_all(verbena::Endpoint to, std::uint64_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::vector<verbena::Operation> sends;
    sends.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        numbers[i] = i;
        sends.push_back(to.send(std::as_bytes(std::span(&numbers[i], 1))));
    }
    for (verbena::Operation& send : sends) {
        const verbena::Status status = send.wait();
        if (status.ok()) continue;
        std::fprintf(stderr, "a send ended with %s: %s\n", describe(status).c_str(), to.describe().failure.c_str());
        return 1;
    }
    const verbena::Status flushed = to.flush().wait();
    const verbena::ChannelInfo channel = to.describe();
    std::printf("%s: depth %u, %llu divergences, %llu packets, %llu of them repeated\n", channel.transport.c_str(),
                channel.send_depth, static_cast<unsigned long long>(channel.divergences),
                static_cast<unsigned long long>(channel.packets_sent),
                static_cast<unsigned long long>(channel.packets_repeated));
    return flushed.ok() && channel.divergences == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) try {
    const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    verbena::Runtime runtime;
    if (count == 0 || runtime.size() != 2) {
        std::fprintf(stderr, "usage: burst COUNT, as one of two ranks\n");
        return 2;
    }
    return runtime.rank() == 0 ? receive_all(runtime.endpoint(1), count) : send_all(runtime.endpoint(0), count);
} catch (const verbena::Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.advice().c_str());
    return 1;
}
