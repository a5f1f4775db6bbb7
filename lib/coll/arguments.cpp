#include "coll/arguments.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include <verbena/error.hpp>

namespace verbena::coll {
namespace {

std::string describe(const mem::Classification& found) {
    if (found.kind == MemoryKind::host) return std::string(name(found.kind));
    return fmt::format("{} (GPU {})", name(found.kind), found.gpu);
}

/// One request on one rank.
class Check {
  public:
    Check(const mem::Spaces& spaces, const Request& request, std::uint32_t rank, std::uint32_t ranks)
        : spaces_(spaces), request_(request), rank_(rank), ranks_(ranks), size_(element_size(request)) {}

    Place run() {
        check_values();
        extent_ = extent_of(request_.collective, shape_of(request_, rank_, ranks_));
        check_pointer("input", request_.input, extent_.input);
        check_pointer("output", request_.output, extent_.output);
        if (extent_.input > 0 && extent_.output > 0) check_overlap();
        return place();
    }

  private:
    [[noreturn]] void refuse(const std::string& what, const std::string& advice = {}) const {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", name(request_.collective), what), advice);
    }

    void check_values() const {
        if (request_.reduction != nullptr) check_reduction();
        if (size_ == 0) refuse(fmt::format("{} is no element type", static_cast<unsigned>(request_.type)));
        if (request_.op > ReduceOp::avg) refuse(fmt::format("{} is no operation", static_cast<unsigned>(request_.op)));
        if (request_.root >= ranks_) {
            refuse(fmt::format("{} is no rank: there are {}", request_.root, ranks_),
                   fmt::format("the root is one of 0 to {}", ranks_ - 1));
        }
        const bool is_scan =
            request_.collective == Collective::scan || request_.collective == Collective::exclusive_scan;
        if (is_scan && request_.op == ReduceOp::avg && request_.reduction == nullptr)
            refuse("there is no average of a row of ranks", "scan the sum, and divide by rank + 1");
        if (takes_counts(request_.collective)) {
            check_counts("counts", request_.counts);
            if (request_.collective == Collective::all_to_all_v)
                check_counts("receive counts", request_.receive_counts);
        }
        const std::uint64_t blocks = has_blocks(request_.collective) ? ranks_ : 1;
        if (request_.count > std::numeric_limits<std::uintptr_t>::max() / size_ / blocks) too_many(request_.count);
    }

    void check_reduction() const {
        if (!is_reduction(request_.collective)) refuse("it reduces nothing");
        if (request_.reduction->combine == nullptr || request_.reduction->element_bytes == 0)
            refuse("the reduction has no function, or elements of no size");
    }
    void check_counts(const char* what, std::span<const std::uint64_t> counts) const {
        if (counts.size() != ranks_)
            refuse(fmt::format("{} {}, and {} ranks", counts.size(), what, ranks_), "give one for each rank");
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts) {
            if (count > std::numeric_limits<std::uintptr_t>::max() / size_ - sum) too_many(count);
            sum += count;
        }
    }

    void check_pointer(const char* what, const void* pointer, std::uint64_t count) const {
        if (count == 0) return;
        if (pointer == nullptr) {
            refuse(fmt::format("{} is null, {} elements of {} are needed", what, count, name(request_.type)));
        }
        const auto address = reinterpret_cast<std::uintptr_t>(pointer);
        if (count > (std::numeric_limits<std::uintptr_t>::max() - address) / size_) too_many(count);
    }
    [[noreturn]] void too_many(std::uint64_t count) const {
        refuse(fmt::format("{} elements of {} go beyond the address space", count, name(request_.type)));
    }

    /// In place, both buffers lie in one memory that begins where the longer does.
    void check_overlap() const {
        const auto from = reinterpret_cast<std::uintptr_t>(request_.input);
        const auto to = reinterpret_cast<std::uintptr_t>(request_.output);
        const std::size_t input_bytes = extent_.input * size_;
        const std::size_t output_bytes = extent_.output * size_;
        if (from + input_bytes <= to || to + output_bytes <= from) return;
        if (extent_.may_share && from - extent_.input_at * size_ == to - extent_.output_at * size_) return;
        const std::string sentence =
            input_bytes == output_bytes
                ? fmt::format("input {} and output {} overlap in part: {} bytes apart, {} bytes long", request_.input,
                              request_.output, from > to ? from - to : to - from, input_bytes)
                : fmt::format("input {} of {} bytes and output {} of {} bytes overlap", request_.input, input_bytes,
                              request_.output, output_bytes);
        refuse(sentence, in_place_advice());
    }
    [[nodiscard]] std::string in_place_advice() const {
        if (!extent_.may_share) return "it does not work in place: pass buffers that do not overlap";
        if (extent_.input_at == 0 && extent_.output_at == 0)
            return "pass the same pointer twice to work in place, or buffers that do not overlap";
        const bool is_input_within = extent_.input < extent_.output;
        return fmt::format("in place {} is {} + {} bytes, this rank's block; or pass buffers that do not overlap",
                           is_input_within ? "input" : "output", is_input_within ? "output" : "input",
                           (extent_.input_at + extent_.output_at) * size_);
    }

    [[nodiscard]] Place place() const {
        if (extent_.input == 0 && extent_.output == 0) return {&spaces_.space(MemoryKind::host), -1};
        const bool has_both = extent_.input > 0 && extent_.output > 0;
        const mem::Classification first =
            extent_.input > 0 ? classify("input", request_.input) : classify("output", request_.output);
        if (has_both && request_.input != request_.output) {
            const mem::Classification second = classify("output", request_.output);
            if (first.kind != second.kind || first.gpu != second.gpu) {
                refuse(fmt::format("input is {} memory, output is {} memory", describe(first), describe(second)),
                       "both must be of one kind and, on GPUs, of one GPU: copy one with Runtime::copy");
            }
        }
        mem::Space& space = spaces_.space(first.kind);
        if (request_.reduction != nullptr && !space.is_host_accessible()) {
            refuse(fmt::format("{} memory is not reduced by a function of the program", name(first.kind)),
                   "use host memory");
        }
        return {&space, first.gpu};
    }
    [[nodiscard]] mem::Classification classify(const char* what, const void* pointer) const {
        mem::Classification found = spaces_.classify(pointer);
        if (!found.problem.empty()) refuse(fmt::format("{}: {}", what, found.problem));
        return found;
    }

    const mem::Spaces& spaces_;
    const Request& request_;
    std::uint32_t rank_;
    std::uint32_t ranks_;
    std::size_t size_; ///< of an element
    Extent extent_;
};

} // namespace

std::size_t longer_buffer(const Request& request, std::uint32_t ranks) noexcept {
    if (takes_counts(request.collective)) {
        const auto sum = [](std::span<const std::uint64_t> counts) {
            return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        };
        return std::max(sum(request.counts), sum(request.receive_counts)) * element_size(request);
    }
    return request.count * element_size(request) * (has_blocks(request.collective) ? ranks : 1);
}

Place check_arguments(const mem::Spaces& spaces, const Request& request, std::uint32_t rank, std::uint32_t ranks) {
    return Check(spaces, request, rank, ranks).run();
}

} // namespace verbena::coll
