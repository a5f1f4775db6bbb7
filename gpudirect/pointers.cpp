#include "pointers.hpp"

#include <fmt/format.h>
#include <verbena/error.hpp>

#include "classify.hpp"

namespace verbena::gpudirect {

void Pointers::add(const char* what, const void* pointer, std::size_t bytes, const MemoryKind* kind) {
    if (bytes == 0) return;
    check(what, pointer, kind);
    // The driver maps this much at a time, so that within it nothing faults; a query costs a quarter of a microsecond.
    constexpr unsigned mapped_bits = 21;
    const auto first = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t last = first + bytes - 1;
    if (first >> mapped_bits != last >> mapped_bits) check(what, reinterpret_cast<const void*>(last), kind);
}

void Pointers::check(const char* what, const void* address, const MemoryKind* kind) {
    const auto refuse = [&](const std::string& problem, const char* advice) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: {} {}", call_, what, problem), advice);
    };
    if (address == nullptr) refuse("is null", "pass memory from Runtime::allocate or cudaMalloc");
    const mem::Classification found = classify(address);
    if (!found.problem.empty()) refuse(fmt::format("cannot be used: {}", found.problem), "");
    const bool is_gpu_memory = found.kind == MemoryKind::device || found.kind == MemoryKind::managed;
    if (kind != nullptr ? found.kind != *kind : !is_gpu_memory) {
        refuse(fmt::format("{} is {} memory", address, name(found.kind)),
               kind != nullptr ? "pass memory of one kind, or copy it with Runtime::copy"
                               : "pass device memory: copy it there with Runtime::copy");
    }
    if (found.kind == MemoryKind::managed) {
        if (gpu_ < 0) gpu_ = found.gpu;
        return;
    }
    if (is_device_ && found.gpu != gpu_) {
        refuse(fmt::format("{} is memory of cuda:{}, another pointer is of cuda:{}", address, found.gpu, gpu_),
               "copy all to one GPU first");
    }
    gpu_ = found.gpu;
    is_device_ = true;
}

} // namespace verbena::gpudirect
