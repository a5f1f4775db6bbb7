/// @file
/// The cheapest wire there can be: two devices of one process that copy at once and allocate nothing once made. What is
/// counted over it (allocations, instructions) is the engine's own. Two ranks, connected queue pairs.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "wire/device.hpp"

namespace verbena::testing {

class NullDevice;

class NullRegion final : public wire::MemoryRegion {
  public:
    explicit NullRegion(std::span<std::byte> bytes) : bytes_(bytes) {}
    std::span<std::byte> bytes() const override { return bytes_; }
    wire::LocalKey lkey() const override { return {1}; }
    wire::RemoteKey rkey() const override { return {2}; }
    std::uint64_t remote_address(const std::byte* byte) const override { return reinterpret_cast<std::uint64_t>(byte); }

  private:
    std::span<std::byte> bytes_;
};

class NullCompletions final : public wire::CompletionQueue {
  public:
    std::size_t poll(std::span<wire::Completion> out) override {
        std::size_t count = 0;
        while (count < out.size() && tail_ != head_) out[count++] = ring_[tail_++ % ring_.size()];
        return count;
    }
    std::uint32_t capacity() const override { return static_cast<std::uint32_t>(ring_.size()); }
    int event_fd() const override { return -1; }
    void arm() override {}
    void push(const wire::Completion& completion) { ring_[head_++ % ring_.size()] = completion; }

  private:
    std::array<wire::Completion, 4096> ring_{};
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
};

class NullQueuePair final : public wire::QueuePair {
  public:
    explicit NullQueuePair(const wire::QueuePairOptions& options)
        : sends_(static_cast<NullCompletions*>(options.send_cq)),
          receives_(static_cast<NullCompletions*>(options.receive_cq)),
          granted_{options.send_depth, options.receive_depth, 1, 1, options.inline_bytes, 16} {}

    std::uint32_t number() const override { return 1; }
    const wire::Granted& granted() const override { return granted_; }
    wire::QueuePairInfo describe() const override { return {wire::QueuePairState::rts, "null", "null", 0, 0, 0}; }
    wire::Address address() const override {
        wire::Address address(sizeof(void*));
        const NullQueuePair* self = this;
        std::memcpy(address.data(), &self, sizeof self);
        return address;
    }
    void connect(std::span<const std::byte> remote) override { std::memcpy(&peer_, remote.data(), sizeof peer_); }
    wire::PeerHandle resolve(std::span<const std::byte>) override { return {}; }
    void fail() override {}

    wire::PostResult post_send(std::span<const wire::WorkRequest> requests) override {
        for (const wire::WorkRequest& request : requests) {
            const wire::Sge sge = request.sges.empty() ? wire::Sge{} : request.sges.front();
            if (request.opcode == wire::Opcode::rdma_read) {
                std::memcpy(sge.address, reinterpret_cast<const std::byte*>(request.remote.address), sge.length);
            } else if (request.opcode == wire::Opcode::rdma_write) {
                std::memcpy(reinterpret_cast<std::byte*>(request.remote.address), sge.address, sge.length);
            } else if (request.opcode == wire::Opcode::atomic_fetch_add ||
                       request.opcode == wire::Opcode::atomic_compare_swap) {
                auto& word = *reinterpret_cast<std::uint64_t*>(request.remote.address);
                std::memcpy(sge.address, &word, sizeof word);
                if (request.opcode == wire::Opcode::atomic_fetch_add) {
                    word += request.operand;
                } else if (word == request.compare) {
                    word = request.operand;
                }
            } else {
                peer_->arrive(sge);
            }
            if ((request.flags & wire::signaled) != 0) {
                wire::Completion completion;
                completion.wr_id = request.wr_id;
                sends_->push(completion);
            }
        }
        return {static_cast<std::uint32_t>(requests.size()), wire::Refusal::none, 0};
    }
    wire::PostResult post_receive(std::span<const wire::ReceiveRequest> requests) override {
        for (const wire::ReceiveRequest& request : requests) {
            posted_[posted_head_++ % posted_.size()] = {request.wr_id, request.sges.front()};
        }
        return {static_cast<std::uint32_t>(requests.size()), wire::Refusal::none, 0};
    }

  private:
    struct Posted {
        std::uint64_t wr_id;
        wire::Sge sge;
    };
    void arrive(const wire::Sge& from) {
        const Posted& to = posted_[posted_tail_++ % posted_.size()];
        std::memcpy(to.sge.address, from.address, from.length);
        wire::Completion completion;
        completion.wr_id = to.wr_id;
        completion.kind = wire::CompletionKind::receive;
        completion.is_receive = true;
        completion.byte_count = from.length;
        receives_->push(completion);
    }

    NullCompletions* sends_;
    NullCompletions* receives_;
    wire::Granted granted_;
    NullQueuePair* peer_ = nullptr;
    std::array<Posted, 1024> posted_{};
    std::uint64_t posted_head_ = 0;
    std::uint64_t posted_tail_ = 0;
};

class NullDevice final : public wire::Device {
  public:
    explicit NullDevice(bool has_rma = true) {
        capabilities_.rdma_read = capabilities_.rdma_write = capabilities_.atomics = has_rma;
        capabilities_.max_message_bytes = 1u << 30;
        capabilities_.max_completions = 4096;
    }
    const wire::Capabilities& capabilities() const override { return capabilities_; }
    const wire::Accounting& accounting() const override { return accounting_; }
    std::string describe() const override { return "null"; }
    std::unique_ptr<wire::CompletionQueue> create_completion_queue(std::uint32_t) override {
        return std::make_unique<NullCompletions>();
    }
    std::unique_ptr<wire::QueuePair> create_queue_pair(const wire::QueuePairOptions& options) override {
        return std::make_unique<NullQueuePair>(options);
    }
    std::unique_ptr<wire::MemoryRegion> register_memory(std::span<std::byte> memory, Access) override {
        return std::make_unique<NullRegion>(memory);
    }
    std::size_t poll_async(std::span<wire::AsyncEvent>) override { return 0; }

  private:
    wire::Capabilities capabilities_;
    wire::Accounting accounting_;
};

} // namespace verbena::testing
