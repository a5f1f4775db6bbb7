/// @file
/// A started call: test it, wait for it, read how it ended.
#pragma once

#include <chrono>
#include <cstdint>

#include <verbena/error.hpp>
#include <verbena/export.hpp>

namespace verbena {

namespace detail {
struct RuntimeCore;
}

/// A started send, receive or collective. Move-only. The buffers of the call belong to it until it is complete. Letting
/// an incomplete Operation go does not stop it: the buffers must stay valid until the Runtime is closed, which an
/// Operation must not outlive. One caller at a time, the Runtime's thread.
class [[nodiscard]] VERBENA_API Operation {
  public:
    Operation() noexcept = default; ///< complete, ok
    Operation(Operation&& other) noexcept;
    Operation& operator=(Operation&& other) noexcept;
    ~Operation();

    /// Makes some progress; true once complete.
    bool test();
    /// Waits until complete, at most the setting `operation-timeout`. On timed_out the operation lives on.
    Status wait();
    Status wait_for(std::chrono::nanoseconds limit);
    Status wait_until(std::chrono::steady_clock::time_point deadline);

    /// How it ended; code would_block while it has not.
    [[nodiscard]] Status status() const noexcept;

    /// One that has ended already.
    explicit Operation(const Status& status) noexcept : status_(status) {}
    Operation(detail::RuntimeCore* core, std::uint32_t index, std::uint32_t generation) noexcept;

  private:
    void let_go() noexcept;

    detail::RuntimeCore* core_ = nullptr;
    std::uint32_t index_ = 0;
    std::uint32_t generation_ = 0;
    Status status_{};
};

} // namespace verbena
