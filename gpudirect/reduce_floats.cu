#include "reduce_kernel.cuh"

namespace verbena::gpudirect {

template ReduceVariant reduce_variant<float>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<double>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<__half>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<__nv_bfloat16>(ReduceOp, bool, int);

} // namespace verbena::gpudirect
