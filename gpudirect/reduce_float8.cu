#include "reduce_kernel.cuh"

namespace verbena::gpudirect {

template ReduceVariant reduce_variant<E4m3>(ReduceOp, bool, int);
template ReduceVariant reduce_variant<E5m2>(ReduceOp, bool, int);

} // namespace verbena::gpudirect
