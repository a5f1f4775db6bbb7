#include "link.hpp"

#include <algorithm>
#include <array>

namespace verbena::conformance {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr std::byte guard{0xc9};

std::byte pattern(unsigned seed, std::size_t index) {
    return static_cast<std::byte>((seed * 31u + static_cast<unsigned>(index) * 7u + static_cast<unsigned>(index >> 8)) &
                                  0xffu);
}

Access everything(const wire::Device& device) {
    const Access access = Access::local_write | Access::remote_read | Access::remote_write;
    return device.capabilities().atomics ? access | Access::remote_atomic : access;
}

Side open(wire::Device& device, wire::QueuePairOptions options) {
    // Room for every work request that may be granted: the suite never overruns a completion queue by accident.
    auto cq = device.create_completion_queue(std::min<std::uint32_t>(2048, device.capabilities().max_completions));
    options.send_cq = options.receive_cq = cq.get();
    auto qp = device.create_queue_pair(options);
    return {device, std::move(cq), std::move(qp)};
}

} // namespace

Buffer::Buffer(wire::Device& device, std::size_t size) : Buffer(device, size, everything(device)) {}

Buffer::Buffer(wire::Device& device, std::size_t size, Access access)
    : storage_(size + 2 * guard_bytes, guard), size_(size), region_(device.register_memory(bytes(), access)) {
    clear();
}

std::span<std::byte> Buffer::bytes() { return std::span(storage_).subspan(guard_bytes, size_); }

wire::Sge Buffer::sge(std::size_t offset, std::size_t length) {
    return {bytes().data() + offset, static_cast<std::uint32_t>(length), region_->lkey()};
}

wire::RemoteAddress Buffer::remote(std::size_t offset) {
    return {region_->remote_address(bytes().data()) + offset, region_->rkey()};
}

void Buffer::fill(unsigned seed) {
    std::size_t index = 0;
    for (std::byte& byte : bytes()) byte = pattern(seed, index++);
}

void Buffer::clear() { std::ranges::fill(bytes(), std::byte{0}); }

bool Buffer::holds(unsigned seed, std::size_t offset, std::size_t length) {
    const auto part = bytes().subspan(offset, length);
    for (std::size_t i = 0; i < length; ++i) {
        if (part[i] != pattern(seed, i)) return false;
    }
    return true;
}

bool Buffer::is_clear(std::size_t offset, std::size_t length) {
    return std::ranges::all_of(bytes().subspan(offset, length), [](std::byte byte) { return byte == std::byte{0}; });
}

bool Buffer::guards_intact() const {
    const auto is_guard = [](std::byte byte) { return byte == guard; };
    const std::span all(storage_);
    return std::ranges::all_of(all.first(guard_bytes), is_guard) &&
           std::ranges::all_of(all.last(guard_bytes), is_guard);
}

bool Side::frees_only_itself() const { return device.accounting().retirement == wire::Retirement::each_completion; }

wire::PostResult Side::try_post(wire::WorkRequest request) {
    request.peer = peer;
    if (frees_only_itself()) request.flags |= wire::signaled;
    return qp->post_send({&request, 1});
}

void Side::post(const wire::WorkRequest& request) {
    const wire::PostResult result = try_post(request);
    REQUIRE(result.refusal == wire::Refusal::none);
    REQUIRE(result.accepted == 1);
}

void Side::post_receive(std::uint64_t wr_id, const wire::Sge& buffer) {
    const wire::ReceiveRequest receive{wr_id, {&buffer, 1}};
    const wire::PostResult result = qp->post_receive({&receive, 1});
    REQUIRE(result.refusal == wire::Refusal::none);
    REQUIRE(result.accepted == 1);
}

void Side::poll() {
    std::array<wire::Completion, 16> batch;
    while (const std::size_t count = cq->poll(batch)) {
        for (const wire::Completion& completion : std::span(batch).first(count)) {
            (completion.is_receive ? received : sent).push_back(completion);
        }
    }
}

Link::Link(Pair& pair, wire::QueuePairOptions options)
    : step_(pair.step), a(open(*pair.a, options)), b(open(*pair.b, options)) {
    if (pair.a->capabilities().connected) {
        a.qp->connect(b.qp->address());
        b.qp->connect(a.qp->address());
    } else {
        a.peer = a.qp->resolve(b.qp->address());
        b.peer = b.qp->resolve(a.qp->address());
    }
}

wire::QueuePairOptions Link::small_queues() {
    wire::QueuePairOptions options;
    options.send_depth = 16;
    options.receive_depth = 16;
    options.send_sges = 3;
    options.receive_sges = 3;
    options.inline_bytes = 64;
    options.retry_count = 3;
    return options;
}

wire::WorkRequest request(std::uint64_t wr_id, wire::Opcode opcode, std::span<const wire::Sge> sges,
                          wire::RemoteAddress remote, std::uint8_t flags) {
    wire::WorkRequest made;
    made.wr_id = wr_id;
    made.opcode = opcode;
    made.flags = flags;
    made.sges = sges;
    made.remote = remote;
    return made;
}

} // namespace verbena::conformance
