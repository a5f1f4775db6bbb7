#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace verbena {

/// Elements that never move, added one at a time and never removed. Indexing is a shift and two loads, where std::deque
/// divides and looks for the element's node: this counts on a hot path. One caller at a time.
template <class Element, std::size_t chunk_elements = 64>
class StableVector {
    static_assert((chunk_elements & (chunk_elements - 1)) == 0);

  public:
    [[nodiscard]] Element& operator[](std::size_t index) noexcept {
        return (*chunks_[index / chunk_elements])[index % chunk_elements];
    }
    [[nodiscard]] const Element& operator[](std::size_t index) const noexcept {
        return (*chunks_[index / chunk_elements])[index % chunk_elements];
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    Element& add() {
        if (size_ == chunks_.size() * chunk_elements) {
            chunks_.push_back(std::make_unique<std::array<Element, chunk_elements>>());
        }
        return (*this)[size_++];
    }

  private:
    std::vector<std::unique_ptr<std::array<Element, chunk_elements>>> chunks_;
    std::size_t size_ = 0;
};

} // namespace verbena
