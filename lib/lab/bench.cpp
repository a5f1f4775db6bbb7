#include "lab/bench.hpp"

#include <array>

namespace verbena::lab {
namespace {

constexpr auto patience = std::chrono::milliseconds(500);

} // namespace

Bench::Bench(std::uint64_t seed) : fabric_(std::make_unique<sim::Fabric>(seed)) {
    for (auto& device : devices_) device = std::make_unique<Recorder>(fabric_->device({sim::mlx5_like(), {}}));
}

Bench::Bench(const OpenDevice& open) {
    for (auto& device : devices_) device = std::make_unique<Recorder>(open());
}

void Bench::wait(const std::function<bool()>& enough) {
    if (is_simulated()) {
        while (!enough() && fabric_->step()) {
        }
        (void)enough(); // polls once more
        return;
    }
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!enough() && std::chrono::steady_clock::now() < deadline) {
    }
}

RawEnd::RawEnd(Recorder& device, const wire::QueuePairOptions& options, std::uint32_t send_entries)
    : device_(device),
      send_cq_(device.create_completion_queue(send_entries)),
      receive_cq_(device.create_completion_queue(std::max(options.receive_depth, 1u))),
      memory_(4096),
      region_(device.register_memory(memory_, Access::messages | Access::remote_write)) {
    wire::QueuePairOptions wanted = options;
    wanted.send_cq = send_cq_.get();
    wanted.receive_cq = receive_cq_.get();
    queue_pair_ = device.create_queue_pair(wanted);
}

void RawEnd::connect(RawEnd& a, RawEnd& b) {
    for (auto [end, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        if (end->device_.capabilities().connected) {
            end->queue_pair_->connect(other->queue_pair_->address());
        } else {
            end->peer_ = end->queue_pair_->resolve(other->queue_pair_->address());
        }
    }
}

wire::PostResult RawEnd::post(wire::Opcode opcode, std::uint8_t flags, std::size_t offset, const RawEnd* remote) {
    const wire::Sge sge{memory_.data() + offset, 8, region_->lkey()};
    wire::WorkRequest request;
    request.wr_id = next_++;
    request.opcode = opcode;
    request.flags = flags;
    if (device_.accounting().retirement == wire::Retirement::each_completion) request.flags |= wire::signaled;
    request.sges = {&sge, 1};
    request.peer = peer_;
    if (remote != nullptr) {
        request.remote = {remote->region_->remote_address(remote->memory_.data()), remote->region_->rkey()};
    }
    return queue_pair_->post_send({&request, 1});
}

void RawEnd::post_receives(std::uint32_t count) {
    const wire::Sge sge{memory_.data(), 8, region_->lkey()};
    for (; count > 0; --count) {
        const wire::ReceiveRequest request{next_++, {&sge, 1}};
        (void)queue_pair_->post_receive({&request, 1});
    }
}

void RawEnd::poll() {
    std::array<wire::Completion, 64> batch;
    for (auto [queue, to] : {std::pair(send_cq_.get(), &sent), std::pair(receive_cq_.get(), &received)}) {
        const std::size_t count = queue->poll(batch);
        to->insert(to->end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
    }
}

Ranks::Ranks(Bench& on, msg::EngineOptions options) : bench(on) {
    options.size = 2;
    for (options.rank = 0; options.rank < 2; ++options.rank) {
        engines[options.rank] = std::make_unique<msg::Engine>(on.device(options.rank), spaces, options);
    }
    engines[0]->connect(1, engines[1]->address_for(0));
    engines[1]->connect(0, engines[0]->address_for(1));
}

bool Ranks::run_until(const std::function<bool()>& done) {
    bench.wait([&] {
        for (const auto& engine : engines) {
            while (engine->progress() > 0) {
            }
        }
        return done();
    });
    return done();
}

std::string fit(const std::string& marks) {
    constexpr std::size_t most = 48; // with action and words beside it a line stays within a terminal
    if (marks.size() <= most) return marks;
    std::string fitted;
    for (std::size_t i = 0; i < most; ++i) fitted += marks[i * marks.size() / most];
    return fitted;
}

} // namespace verbena::lab
