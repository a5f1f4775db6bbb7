/// @file
/// Owners of libfabric objects. Each closes what it holds; the order of closing is the reverse order of members.
#pragma once

#include <memory>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

namespace verbena::ofi {

template <class Fid>
struct CloseFid {
    void operator()(Fid* object) const noexcept { fi_close(&object->fid); }
};
template <class Fid>
using Handle = std::unique_ptr<Fid, CloseFid<Fid>>;

struct FreeInfo {
    void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

} // namespace verbena::ofi
