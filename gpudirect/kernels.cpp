#include "kernels.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cuda_error.hpp"
#include "gpu.hpp"
#include "pointers.hpp"
#include "quantise_kernel.hpp"
#include "reduce_kernel.hpp"
#include "rows_kernel.hpp"

namespace verbena::gpudirect {
namespace {

[[noreturn]] void refuse(const std::string& what, const char* advice = "") {
    throw Error(ErrorCode::invalid_argument, what, advice);
}

bool is_wide(DataType type) noexcept {
    return type == DataType::f32 || type == DataType::f16 || type == DataType::bf16;
}

cudaStream_t handle(const GpuStream& stream) { return static_cast<cudaStream_t>(stream.stream); }

ReduceLaunch checked(const GpuReduction& reduction) {
    const std::size_t inputs = reduction.inputs.size();
    if (inputs < 1 || inputs > max_reduce_inputs)
        refuse(fmt::format("reduce: it takes 1 to {} inputs and was given {}", max_reduce_inputs, inputs));
    const bool sums = reduction.op == ReduceOp::sum || reduction.op == ReduceOp::avg;
    if (!reduction.factors.empty() && (!sums || reduction.factors.size() != inputs)) {
        refuse(
            fmt::format("reduce: {} factors for {} of {} inputs", reduction.factors.size(), name(reduction.op), inputs),
            "factors go with sum and avg, one for each input");
    }
    ReduceLaunch launch;
    launch.type = reduction.type;
    launch.op = reduction.op;
    launch.output = static_cast<std::byte*>(reduction.output);
    launch.input_count = static_cast<int>(inputs);
    launch.scaled = !reduction.factors.empty();
    launch.count = reduction.count;
    launch.element_bytes = size_of(reduction.type);
    if (reduction.op == ReduceOp::avg)
        launch.divisor = reduction.divisor != 0 ? reduction.divisor : static_cast<std::uint32_t>(inputs);
    for (std::size_t i = 0; i < inputs; ++i) launch.inputs[i] = static_cast<const std::byte*>(reduction.inputs[i]);
    std::copy(reduction.factors.begin(), reduction.factors.end(), launch.factors.begin());
    return launch;
}

void run_quantise(const char* call, const GpuQuantisation& what, QuantiseWay way, const GpuStream& stream) {
    if (!is_wide(what.wide) || (what.code != DataType::f8e4m3 && what.code != DataType::f8e5m2)) {
        refuse(fmt::format("{}: {} and {} do not go together", call, name(what.wide), name(what.code)),
               "wide is f32, f16 or bf16; code is f8e4m3 or f8e5m2");
    }
    if (reinterpret_cast<std::uintptr_t>(what.scales) % alignof(float) != 0)
        refuse(fmt::format("{}: scales at {} are not aligned to 4 bytes", call, static_cast<void*>(what.scales)));
    if (what.count == 0) return;
    constexpr std::size_t block = GpuQuantisation::block;
    Pointers pointers(call);
    pointers.add("values", what.values, what.count * size_of(what.wide));
    pointers.add("codes", what.codes, what.count);
    pointers.add("scales", what.scales, (what.count + block - 1) / block * sizeof(float));
    const CurrentGpu current(pointers.gpu());
    const QuantiseLaunch launch{what, way, stream.multiprocessors};
    check(launch_quantise(launch, handle(stream)), call, pointers.gpu());
}

void run_rows(const char* call, const GpuRows& rows, RowsWay way, const GpuStream& stream) {
    if (rows.packed_rows == 0 || rows.row_bytes == 0) return;
    Pointers pointers(call);
    pointers.add("index", rows.index, rows.packed_rows * sizeof(std::int32_t));
    pointers.add("rows", rows.rows, rows.row_bytes);
    pointers.add("packed", rows.packed, rows.packed_rows * rows.row_bytes);
    const CurrentGpu current(pointers.gpu());
    check(launch_rows(rows, way, stream.multiprocessors, handle(stream)), call, pointers.gpu());
}

} // namespace

void CudaKernels::reduce(const GpuReduction& reduction, const GpuStream& stream) {
    ReduceLaunch launch = checked(reduction);
    if (launch.count == 0) return;
    const std::size_t bytes = launch.count * launch.element_bytes;
    Pointers pointers("reduce");
    pointers.add("output", launch.output, bytes);
    for (int i = 0; i < launch.input_count; ++i)
        pointers.add("an input", launch.inputs[static_cast<std::size_t>(i)], bytes);
    const CurrentGpu current(pointers.gpu());
    launch.multiprocessors = current.multiprocessors();
    launch.at_most = stream.multiprocessors;
    check(launch_reduce(launch, handle(stream)), "reduce", pointers.gpu());
}

void CudaKernels::quantise(const GpuQuantisation& quantisation, const GpuStream& stream) {
    run_quantise("quantise", quantisation, QuantiseWay::to_codes, stream);
}
void CudaKernels::dequantise(const GpuQuantisation& quantisation, const GpuStream& stream) {
    run_quantise("dequantise", quantisation, QuantiseWay::to_values, stream);
}
void CudaKernels::pack(const GpuRows& rows, const GpuStream& stream) { run_rows("pack", rows, RowsWay::pack, stream); }
void CudaKernels::unpack(const GpuRows& rows, const GpuStream& stream) {
    run_rows("unpack", rows, RowsWay::unpack, stream);
}

void CudaKernels::combine(const GpuCombination& what, const GpuStream& stream) {
    if (!is_wide(what.type))
        refuse(fmt::format("combine: rows of {} are not combined", name(what.type)), "rows are f32, f16 or bf16");
    if (what.tokens == 0 || what.hidden == 0) return;
    const std::size_t chosen = what.tokens * what.choices;
    Pointers pointers("combine");
    pointers.add("output", what.output, what.tokens * what.hidden * size_of(what.type));
    pointers.add("slots", what.slots, chosen * sizeof(std::int32_t));
    pointers.add("weights", what.weights, chosen * sizeof(float));
    if (chosen != 0) pointers.add("packed", what.packed, what.hidden * size_of(what.type));
    const CurrentGpu current(pointers.gpu());
    check(launch_combine(what, stream.multiprocessors, handle(stream)), "combine", pointers.gpu());
}

} // namespace verbena::gpudirect
