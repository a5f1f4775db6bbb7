#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/request.hpp"

namespace verbena::shm {

/// Walks a scatter/gather list, copying. The caller keeps within left(). Hot path.
class SgeCursor {
  public:
    SgeCursor() noexcept = default;
    explicit SgeCursor(std::span<const wire::Sge> list) noexcept : list_(list), left_(wire::length_of(list)) {}

    /// Bytes from here to the end.
    [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

    void copy_to(std::span<std::byte> out) noexcept {
        walk(out.size(), [out = out.data()](std::byte* memory, std::size_t length) mutable {
            std::memcpy(out, memory, length);
            out += length;
        });
    }
    void copy_from(std::span<const std::byte> in) noexcept {
        walk(in.size(), [in = in.data()](std::byte* memory, std::size_t length) mutable {
            std::memcpy(memory, in, length);
            in += length;
        });
    }

    /// Calls `visit(memory, length)` for the pieces of the next `count` bytes, and passes them.
    template <class Visit>
    void walk(std::size_t count, Visit visit) noexcept {
        left_ -= count;
        while (count > 0) {
            const wire::Sge& sge = list_[index_];
            const std::size_t here = std::min<std::size_t>(count, sge.length - offset_);
            if (here > 0) visit(sge.address + offset_, here);
            count -= here;
            offset_ += here;
            if (offset_ < sge.length) return;
            ++index_;
            offset_ = 0;
        }
    }

  private:
    std::span<const wire::Sge> list_;
    std::size_t index_ = 0;
    std::size_t offset_ = 0; ///< in list_[index_]
    std::uint64_t left_ = 0;
};

} // namespace verbena::shm
