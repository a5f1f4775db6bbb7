/// @file
/// Owners of libibverbs objects. Destruction order is that of the members that hold them: reverse of declaration.
#pragma once

#include <memory>

#include <infiniband/verbs.h>

namespace verbena::verbs {

/// Refusals of a destroy call (EBUSY) have nobody who could act on them here; what is still in use stays until exit.
template <auto destroy>
struct Destroy {
    template <class Object>
    void operator()(Object* object) const noexcept {
        (void)destroy(object);
    }
};

using Context = std::unique_ptr<ibv_context, Destroy<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using CompletionQueueHandle = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;
using QueuePairHandle = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;
using AddressHandle = std::unique_ptr<ibv_ah, Destroy<ibv_destroy_ah>>;
using MemoryRegionHandle = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;

} // namespace verbena::verbs
