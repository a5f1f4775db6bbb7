#include "one_sided_job.hpp"

#include <algorithm>
#include <cstring>

namespace verbena::conformance {

OneSidedJob::OneSidedJob(Pair& pair, std::uint32_t ranks, msg::EngineOptions options) : step_(pair.step) {
    options.size = ranks;
    options.job = 0x1234;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        options.rank = rank;
        engines_.push_back(std::make_unique<msg::Engine>(rank % 2 == 0 ? *pair.a : *pair.b, spaces_, options));
    }
    for (std::uint32_t a = 0; a < ranks; ++a) {
        for (std::uint32_t b = 0; b < ranks; ++b) {
            if (a != b) engines_[a]->connect(b, engines_[b]->address_for(a));
        }
    }
}

void OneSidedJob::step(std::uint32_t only) {
    step_();
    for (std::uint32_t rank = 0; rank < engines_.size(); ++rank) {
        if (engines_[rank] && (only == all || only == rank)) engines_[rank]->progress();
    }
}

Status OneSidedJob::end_of(std::uint32_t rank, msg::OperationId id, std::uint32_t only) {
    Status status;
    status.code = ErrorCode::timed_out;
    if (wait([&] { return engines_[rank]->is_complete(id); }, only)) status = engines_[rank]->status(id);
    engines_[rank]->release(id);
    return status;
}

Exposed::Exposed(msg::Engine& engine, std::size_t size, Access access)
    : size_(size),
      storage_(size + 2 * guard, std::byte{0xa5}),
      registration_(engine.register_memory({storage_.data() + guard, size}, access)) {
    std::fill_n(storage_.begin() + guard, size, std::byte{0});
    Access rights = Access::none;
    for (const Access right : {Access::remote_read, Access::remote_write, Access::remote_atomic}) {
        if (allows(access, right)) rights = rights | right;
    }
    const RemoteRegion made = registration_->remote(rights);
    region_ = RemoteRegion::decode(made.encode());
    CHECK(region_ == made);
}

std::uint64_t Exposed::word(std::size_t offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, storage_.data() + guard + offset, sizeof value);
    return value;
}

void Exposed::set_word(std::size_t offset, std::uint64_t value) {
    std::memcpy(storage_.data() + guard + offset, &value, sizeof value);
}

void Exposed::fill(unsigned seed) { std::ranges::copy(content(seed, size_), bytes().begin()); }

bool Exposed::guards_intact() const {
    const auto is_guard = [](std::byte byte) { return byte == std::byte{0xa5}; };
    return std::all_of(storage_.begin(), storage_.begin() + guard, is_guard) &&
           std::all_of(storage_.end() - guard, storage_.end(), is_guard);
}

std::vector<std::byte> content(unsigned seed, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(seed * 37 + i * 11 + (i >> 7) + 1);
    return data;
}

msg::OneSidedCall put_call(std::span<const std::byte> source, const RemoteRegion& to, std::uint64_t offset) {
    msg::OneSidedCall call;
    call.local = {const_cast<std::byte*>(source.data()), source.size()};
    call.region = &to;
    call.offset = offset;
    return call;
}

msg::OneSidedCall get_call(std::span<std::byte> destination, const RemoteRegion& from, std::uint64_t offset) {
    msg::OneSidedCall call;
    call.kind = msg::OneSidedCall::Kind::get;
    call.local = destination;
    call.region = &from;
    call.offset = offset;
    return call;
}

msg::OneSidedCall atomic_call(msg::OneSidedCall::Kind kind, const RemoteRegion& at, std::uint64_t offset,
                              std::uint64_t operand, std::uint64_t compare, std::uint64_t* before) {
    msg::OneSidedCall call;
    call.kind = kind;
    call.region = &at;
    call.offset = offset;
    call.operand = operand;
    call.compare = compare;
    call.before = before;
    return call;
}

} // namespace verbena::conformance
