#include "lab/recorder.hpp"

#include "msg/header.hpp"

namespace verbena::lab {
namespace {

class RecordedCompletions final : public wire::CompletionQueue {
  public:
    RecordedCompletions(std::unique_ptr<wire::CompletionQueue> queue, Notes& notes)
        : queue_(std::move(queue)), notes_(notes) {}

    [[nodiscard]] wire::CompletionQueue* inner() const noexcept { return queue_.get(); }

    std::size_t poll(std::span<wire::Completion> out) override {
        const std::size_t count = queue_->poll(out);
        for (const wire::Completion& completion : out.first(count)) {
            if (completion.status == wire::CompletionStatus::flushed) {
                ++notes_.flushed;
            } else if (completion.status != wire::CompletionStatus::success) {
                ++notes_.failed;
            }
            if (completion.is_receive) {
                ++notes_.receives_completed;
            } else {
                notes_.sends.completed(completion.wr_id);
            }
        }
        return count;
    }
    std::uint32_t capacity() const override { return queue_->capacity(); }
    int event_fd() const override { return queue_->event_fd(); }
    void arm() override { queue_->arm(); }

  private:
    std::unique_ptr<wire::CompletionQueue> queue_;
    Notes& notes_;
};

class RecordedQueuePair final : public wire::QueuePair {
  public:
    RecordedQueuePair(std::unique_ptr<wire::QueuePair> queue_pair, Notes& notes)
        : queue_pair_(std::move(queue_pair)), notes_(notes) {}

    std::uint32_t number() const override { return queue_pair_->number(); }
    const wire::Granted& granted() const override { return queue_pair_->granted(); }
    wire::QueuePairInfo describe() const override { return queue_pair_->describe(); }
    wire::Address address() const override { return queue_pair_->address(); }
    void connect(std::span<const std::byte> remote) override { queue_pair_->connect(remote); }
    wire::PeerHandle resolve(std::span<const std::byte> remote) override { return queue_pair_->resolve(remote); }
    void fail() override { queue_pair_->fail(); }

    wire::PostResult post_send(std::span<const wire::WorkRequest> requests) override {
        const wire::PostResult result = queue_pair_->post_send(requests);
        for (const wire::WorkRequest& request : requests.first(result.accepted)) {
            notes_.sends.posted(request);
            if (is_bare_grant(request)) ++notes_.bare_grants;
        }
        if (result.refusal != wire::Refusal::none) ++notes_.refused;
        return result;
    }
    wire::PostResult post_receive(std::span<const wire::ReceiveRequest> requests) override {
        const wire::PostResult result = queue_pair_->post_receive(requests);
        notes_.receives_posted += result.accepted;
        return result;
    }

  private:
    static bool is_bare_grant(const wire::WorkRequest& request) {
        if (request.opcode != wire::Opcode::send || request.sges.empty()) return false;
        const auto header = msg::parse_header({request.sges[0].address, request.sges[0].length});
        return header && header->kind == msg::MessageKind::bare_grant;
    }

    std::unique_ptr<wire::QueuePair> queue_pair_;
    Notes& notes_;
};

wire::CompletionQueue* unwrapped(wire::CompletionQueue* queue) {
    return static_cast<RecordedCompletions*>(queue)->inner(); // a Recorder's queue pairs are given its own queues
}

} // namespace

std::unique_ptr<wire::CompletionQueue> Recorder::create_completion_queue(std::uint32_t depth) {
    auto made = device_->create_completion_queue(depth);
    notes_.completion_entries = made->capacity();
    return std::make_unique<RecordedCompletions>(std::move(made), notes_);
}

std::unique_ptr<wire::QueuePair> Recorder::create_queue_pair(const wire::QueuePairOptions& options) {
    wire::QueuePairOptions inner = options;
    inner.send_cq = unwrapped(options.send_cq);
    inner.receive_cq = unwrapped(options.receive_cq);
    auto made = device_->create_queue_pair(inner);
    notes_.sends.reset(made->granted().send_depth, device_->accounting().retirement);
    return std::make_unique<RecordedQueuePair>(std::move(made), notes_);
}

} // namespace verbena::lab
