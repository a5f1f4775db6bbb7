/// @file
/// Who may be inside a Runtime: one thread for good, or one at a time.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include <verbena/error.hpp>

namespace verbena::detail {

/// The setting `threads`. *single*: only the thread that made the Runtime calls; builds with assertions notice another.
/// *serialised*: any thread may call, one lock goes around each call, and a wait gives it up between steps. Recursive,
/// because a callback of progress() may call in. Thread-safe.
class Gate {
  public:
    using Pass = std::unique_lock<std::recursive_mutex>;

    explicit Gate(bool serialised) : serialised_(serialised), owner_(std::this_thread::get_id()) {}

    /// Held for the length of a call. @throws Error (invalid_argument) for a call from another thread in single mode.
    [[nodiscard]] Pass enter() {
        if (serialised_) return pass();
#ifndef NDEBUG
        if (std::this_thread::get_id() != owner_) {
            throw Error(ErrorCode::invalid_argument, "a Runtime was called from a thread that did not make it",
                        "call it from that thread alone, or set threads=serialised");
        }
#endif
        return {};
    }
    /// The same where nothing can be thrown: a destructor.
    [[nodiscard]] Pass enter_quietly() noexcept { return serialised_ ? pass() : Pass{}; }

    /// Another thread is at the door: whoever loops lets it in.
    [[nodiscard]] bool is_wanted() const noexcept { return waiting_.load(std::memory_order_relaxed) > 0; }

  private:
    Pass pass() {
        Pass made(mutex_, std::try_to_lock);
        if (made.owns_lock()) return made;
        waiting_.fetch_add(1, std::memory_order_relaxed);
        made.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        return made;
    }

    bool serialised_;
    std::thread::id owner_;
    std::recursive_mutex mutex_;
    std::atomic<int> waiting_{0};
};

} // namespace verbena::detail
