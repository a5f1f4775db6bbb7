#include "reduce_kernel.cuh"

namespace verbena::gpudirect {

template ReduceVariant reduce_variant<std::int8_t>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<std::uint8_t>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<std::int32_t>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<std::uint32_t>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<std::int64_t>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<std::uint64_t>(ReduceOp, bool, int);

} // namespace verbena::gpudirect
