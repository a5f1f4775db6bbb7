/// @file
/// A Runtime as the commands use it: waits that a signal ends, and failures as sentences.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <verbena/runtime.hpp>

#include "interrupt.hpp"
#include "output.hpp"
#include "parameters.hpp"

namespace verbena::tools {

/// One caller at a time. While it lives, a first SIGINT makes finish() throw Interrupted.
class Session {
  public:
    explicit Session(const Settings& settings);

    [[nodiscard]] Runtime& runtime() { return runtime_; }
    /// The only peer of a job of two.
    [[nodiscard]] Endpoint& peer();

    /// Waits. @returns the bytes that arrived or left. @throws Error naming `what` when it fails or takes longer than
    /// operation-timeout; Interrupted
    std::uint64_t finish(Operation& operation, std::string_view what);

    /// A message of no bytes each way: no end leaves before the other has come.
    void meet();

    /// Compares parameters with every other rank's. @throws Error (invalid_argument) on all of them, listing each
    /// difference.
    void agree(const Parameters& here);

    /// What describes the way to the peer: backend, device, and the reason.
    [[nodiscard]] std::vector<Field> description();

  private:
    Runtime runtime_;
    std::chrono::nanoseconds limit_;
    std::optional<Endpoint> peer_;
    Interruptible interruptible_;
};

} // namespace verbena::tools
