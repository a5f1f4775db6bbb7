#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace verbena::reliable {

/// State that a peer needs only while it is busy: taken when the first packet needs it, given back when it is idle
/// again, so that idle peers cost nothing and a steady state allocates nothing. Progress-thread only.
template <class T>
class LazyPool {
  public:
    std::unique_ptr<T> take() {
        if (free_.empty()) {
            free_.reserve(++made_); // give() must not allocate
            return std::make_unique<T>();
        }
        std::unique_ptr<T> taken = std::move(free_.back());
        free_.pop_back();
        return taken;
    }
    void give(std::unique_ptr<T> unused) noexcept { free_.push_back(std::move(unused)); }

  private:
    std::vector<std::unique_ptr<T>> free_;
    std::size_t made_ = 0;
};

} // namespace verbena::reliable
