/// @file
/// A trace of one rank's one-sided operations, a JSON object a line (docs/order-trace.md). Progress-thread only.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "msg/order_trace.hpp"
#include "wire/capabilities.hpp"

namespace verbena::detail {

class OrderTraceFile final : public msg::OrderTrace {
  public:
    /// Makes `path`.RANK, readable by its owner alone. @throws Error with the system's reason.
    OrderTraceFile(const std::string& path, std::uint32_t rank, const wire::Capabilities& capabilities);
    ~OrderTraceFile() override;
    OrderTraceFile(const OrderTraceFile&) = delete;
    OrderTraceFile& operator=(const OrderTraceFile&) = delete;

    void posted(std::uint64_t operation, msg::RequestKind kind, const order::Touch& touch, bool fenced) override;
    void done(std::uint64_t operation) override;

  private:
    std::FILE* file_;
};

} // namespace verbena::detail
