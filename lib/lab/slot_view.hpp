/// @file
/// A send queue as seen from above its provider: what was posted and has not been proved free. A value.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "wire/capabilities.hpp"
#include "wire/types.hpp"

namespace verbena::lab {

class SlotView {
  public:
    void reset(std::uint32_t capacity, wire::Retirement retirement) {
        capacity_ = capacity;
        retirement_ = retirement;
        slots_.clear();
        posted_ = signaled_ = 0;
    }

    void posted(const wire::WorkRequest& request) {
        // More than fit were taken: the provider freed the oldest without telling (rxe, when it executed).
        if (slots_.size() >= capacity_) retire(1);
        const bool is_signaled = (request.flags & wire::signaled) != 0;
        slots_.push_back({request.wr_id, is_signaled});
        ++posted_;
        if (is_signaled) ++signaled_;
    }

    void completed(std::uint64_t wr_id) {
        for (std::size_t at = 0; at < slots_.size(); ++at) {
            if (slots_[at].wr_id != wr_id) continue;
            if (retirement_ == wire::Retirement::each_completion) {
                slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(at));
            } else {
                retire(at + 1);
            }
            return;
        }
    }

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint32_t taken() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
    [[nodiscard]] std::uint64_t posted_count() const noexcept { return posted_; }
    [[nodiscard]] std::uint64_t signaled_count() const noexcept { return signaled_; }

    /// From the oldest request on: 'u' unsignaled, 's' signaled; '.' free.
    [[nodiscard]] std::string draw() const {
        std::string marks;
        for (const Slot& slot : slots_) marks += slot.is_signaled ? 's' : 'u';
        marks.resize(capacity_, '.');
        return marks;
    }

  private:
    struct Slot {
        std::uint64_t wr_id;
        bool is_signaled;
    };

    void retire(std::size_t count) {
        slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(count));
    }

    std::uint32_t capacity_ = 0;
    wire::Retirement retirement_{};
    std::deque<Slot> slots_;
    std::uint64_t posted_ = 0;
    std::uint64_t signaled_ = 0;
};

} // namespace verbena::lab
