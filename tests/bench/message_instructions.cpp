/// An 8-byte message from post to completion at both ends, over a wire that costs next to nothing: what is
/// counted is the engine's own. tests/bench/instructions runs it and its peer under callgrind.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "mem/space.hpp"
#include "msg/engine.hpp"
#include "msg/registrations.hpp"
#include "null_wire.hpp"

using namespace verbena;

namespace {

struct Job {
    mem::Spaces spaces{"off"};
    testing::NullDevice devices[2];
    msg::Engine first{devices[0], spaces, options(0)};
    msg::Engine second{devices[1], spaces, options(1)};
    std::array<std::byte, 8> ping{}, pong{};

    Job() {
        first.connect(1, second.address_for(0));
        second.connect(0, first.address_for(1));
    }
    static msg::EngineOptions options(std::uint32_t rank) {
        msg::EngineOptions options;
        options.rank = rank;
        options.size = 2;
        return options;
    }
};

void one_message(Job& job) {
    const msg::OperationId receive = job.second.receive(0, 0, 1, job.pong);
    const msg::OperationId send = job.first.send(1, 0, 1, job.ping);
    while (!job.second.is_complete(receive) || !job.first.is_complete(send)) {
        job.second.progress();
        job.first.progress();
    }
    job.first.release(send);
    job.second.release(receive);
}

} // namespace

int main(int, char** arguments) {
    Job job;
    for (long left = std::atol(arguments[1]); left > 0; --left) one_message(job);
}
