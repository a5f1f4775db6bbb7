#pragma once

#include <string>
#include <vector>

#include <rdma/fi_eq.h>

#include "wire/completion_queue.hpp"

#include "ofi/handle.hpp"
#include "ofi/ready_list.hpp"

namespace verbena::ofi {

/// A libfabric completion queue, and ahead of it the completions that we make ourselves: flushes, and requests that the
/// provider refused after we had taken them. Progress-thread only.
class CompletionQueue final : public wire::CompletionQueue {
  public:
    CompletionQueue(fid_fabric& fabric, fid_domain& domain, const std::string& device, std::uint32_t depth);

    std::size_t poll(std::span<wire::Completion> out) override;
    [[nodiscard]] std::uint32_t capacity() const override { return capacity_; }
    [[nodiscard]] int event_fd() const override { return event_fd_; }
    void arm() override;

    [[nodiscard]] fid_cq& native() noexcept { return *queue_; }

    /// A queue pair that reports here, with the most requests that it can have outstanding here.
    void attach(QueuePair& queue_pair, std::size_t requests);
    /// Its completions that nobody has polled are dropped.
    void detach(QueuePair& queue_pair, std::size_t requests);

    /// Hands out a completion of our own making at the next poll. Hot path.
    void push(Slot& slot, const wire::Completion& completion) noexcept { ready_.push(slot, completion); }

    /// Moves everything that the provider holds to our own list: no entry of its points at a slot any more. Set-up
    /// path.
    void drain();

  private:
    /// Takes what the provider has, at most `limit` entries, and gives each to `consume(Slot&, const Completion&)`.
    template <class Consume>
    void read(std::size_t limit, Consume consume);

    [[nodiscard]] Slot* slot_of(const fi_cq_err_entry& error) noexcept;

    fid_fabric& fabric_;
    std::uint32_t capacity_;
    Handle<fid_cq> queue_;
    int event_fd_ = -1;
    ReadyList ready_;
    std::vector<QueuePair*> queue_pairs_;
};

} // namespace verbena::ofi
