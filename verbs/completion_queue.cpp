/// poll() is on the hot path: no allocation, no lock of ours, no system call.
#include "verbs/completion_queue.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>

#include <fmt/format.h>

#include "verbs/device.hpp"
#include "verbs/errors.hpp"
#include "verbs/translate.hpp"

namespace verbena::verbs {

CompletionQueue::CompletionQueue(Device& device, std::uint32_t depth) : device_(device) {
    const std::uint32_t limit = device.capabilities().max_completions;
    if (depth == 0 || depth > limit) {
        throw Error(depth == 0 ? ErrorCode::invalid_argument : ErrorCode::exhausted,
                    fmt::format("a completion queue of {} entries cannot be had on {}: max_cqe is {}", depth,
                                device.describe(), limit),
                    "use more completion queues, or fewer or smaller queue pairs on each");
    }
    errno = 0;
    channel_.reset(ibv_create_comp_channel(&device.context()));
    if (channel_ == nullptr) throw errno_error(errno, "ibv_create_comp_channel on " + device.describe());
    fcntl(channel_->fd, F_SETFL, fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
    queue_.reset(ibv_create_cq(&device.context(), static_cast<int>(depth), nullptr, channel_.get(), 0));
    if (queue_ == nullptr) {
        throw errno_error(
            errno, fmt::format("ibv_create_cq with {} entries (max_cqe {}) on {}", depth, limit, device.describe()));
    }
}

std::size_t CompletionQueue::poll(std::span<wire::Completion> out) {
    if (!kept_.empty()) [[unlikely]]
        return poll_kept(out);
    return poll_native(out);
}

std::size_t CompletionQueue::poll_kept(std::span<wire::Completion> out) {
    const std::size_t count = std::min(out.size(), kept_.size() - next_kept_);
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(next_kept_), count, out.begin());
    next_kept_ += count;
    if (next_kept_ == kept_.size()) {
        kept_.clear();
        next_kept_ = 0;
    }
    return count;
}

std::size_t CompletionQueue::poll_native(std::span<wire::Completion> out) {
    std::size_t filled = 0;
    while (filled < out.size()) {
        const int wanted = static_cast<int>(std::min(out.size() - filled, batch_.size()));
        const int polled = ibv_poll_cq(queue_.get(), wanted, batch_.data());
        if (polled < 0) [[unlikely]]
            device_.note_broken_completion_queue();
        const std::uint32_t grh_bytes = device_.capabilities().grh_bytes;
        for (int i = 0; i < polled; ++i) out[filled++] = completion_of(batch_[static_cast<std::size_t>(i)], grh_bytes);
        if (polled < wanted) break;
    }
    return filled;
}

void CompletionQueue::arm() {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    // Events read are acknowledged at once: destroying the queue waits for every one that was not.
    while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
    if (ibv_req_notify_cq(queue_.get(), 0) != 0) device_.note_broken_completion_queue();
}

void CompletionQueue::purge(std::uint32_t queue_pair) {
    std::array<wire::Completion, 32> batch;
    while (const std::size_t count = poll_native(batch))
        kept_.insert(kept_.end(), batch.begin(), batch.begin() + count);
    kept_.erase(std::remove_if(kept_.begin() + static_cast<std::ptrdiff_t>(next_kept_), kept_.end(),
                               [queue_pair](const wire::Completion& each) { return each.queue_pair == queue_pair; }),
                kept_.end());
    if (next_kept_ == kept_.size()) {
        kept_.clear();
        next_kept_ = 0;
    }
}

} // namespace verbena::verbs
