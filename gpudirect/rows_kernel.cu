#include <algorithm>
#include <bit>

#include "elements.cuh"
#include "rows_kernel.hpp"

namespace verbena::gpudirect {
namespace {

constexpr int threads = 256;
constexpr int unroll = 4; // words in flight in a thread

/// A block has `threads` / lanes rows at a time; lanes is a power of two, so that short rows leave few threads idle.
struct Grid {
    unsigned lanes;
    unsigned blocks;
};

Grid grid_for(std::size_t rows, std::size_t words, int at_most) {
    const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(1, (words + unroll - 1) / unroll));
    const unsigned lanes = static_cast<unsigned>(std::min<std::size_t>(wanted, threads));
    std::size_t blocks = (rows + threads / lanes - 1) / (threads / lanes);
    if (at_most > 0) blocks = std::min(blocks, static_cast<std::size_t>(at_most)); // one on each
    return {lanes, static_cast<unsigned>(blocks)};
}

struct Arguments {
    const std::int32_t* index;
    std::size_t packed_rows;
    std::size_t words; ///< of a row
    std::byte* rows;
    std::byte* packed;
    unsigned lanes;
};

template <class Word, RowsWay way>
__global__ void __launch_bounds__(threads) move_rows(const __grid_constant__ Arguments arguments) {
    const unsigned lane = threadIdx.x % arguments.lanes;
    const std::size_t at_once = std::size_t{gridDim.x} * (threads / arguments.lanes);
    for (std::size_t i = blockIdx.x * std::size_t{threads / arguments.lanes} + threadIdx.x / arguments.lanes;
         i < arguments.packed_rows; i += at_once) {
        const std::int32_t row = arguments.index[i];
        if (row < 0) continue;
        auto* here = reinterpret_cast<Word*>(arguments.packed) + i * arguments.words;
        auto* there = reinterpret_cast<Word*>(arguments.rows) + static_cast<std::size_t>(row) * arguments.words;
        const Word* from = way == RowsWay::pack ? there : here;
        Word* to = way == RowsWay::pack ? here : there;
        for (std::size_t start = lane; start < arguments.words; start += std::size_t{arguments.lanes} * unroll) {
            Word held[unroll];
#pragma unroll
            for (unsigned u = 0; u < unroll; ++u) {
                const std::size_t word = start + u * arguments.lanes;
                if (word < arguments.words) held[u] = __ldcs(from + word);
            }
#pragma unroll
            for (unsigned u = 0; u < unroll; ++u) {
                const std::size_t word = start + u * arguments.lanes;
                if (word < arguments.words) __stcs(to + word, held[u]);
            }
        }
    }
}

template <class Word>
cudaError_t launch_words(const GpuRows& rows, RowsWay way, int at_most, cudaStream_t stream) {
    const std::size_t words = rows.row_bytes / sizeof(Word);
    const Grid grid = grid_for(rows.packed_rows, words, at_most);
    const Arguments arguments{
        rows.index, rows.packed_rows, words, static_cast<std::byte*>(rows.rows), static_cast<std::byte*>(rows.packed),
        grid.lanes};
    const auto kernel = way == RowsWay::pack ? move_rows<Word, RowsWay::pack> : move_rows<Word, RowsWay::unpack>;
    kernel<<<grid.blocks, threads, 0, stream>>>(arguments);
    return cudaGetLastError();
}

struct CombineArguments {
    std::byte* output;
    const std::byte* packed;
    const std::int32_t* slots;
    const float* weights;
    std::size_t tokens;
    std::size_t hidden;
    std::size_t choices;
    std::size_t vectors; ///< of a row; 0: element by element
    unsigned lanes;
    bool elements_are_aligned;
};

/// Choice by choice in the order given, so that the sum does not depend on the launch.
template <class T>
__global__ void __launch_bounds__(threads) combine(const __grid_constant__ CombineArguments arguments) {
    const unsigned lane = threadIdx.x % arguments.lanes;
    const std::size_t at_once = std::size_t{gridDim.x} * (threads / arguments.lanes);
    for (std::size_t token = blockIdx.x * std::size_t{threads / arguments.lanes} + threadIdx.x / arguments.lanes;
         token < arguments.tokens; token += at_once) {
        const std::int32_t* slots = arguments.slots + token * arguments.choices;
        const float* weights = arguments.weights + token * arguments.choices;
        for (std::size_t vector = lane; vector < arguments.vectors; vector += arguments.lanes) {
            float sum[width<T>] = {};
            for (std::size_t start = 0; start < arguments.choices; start += unroll) {
                Lanes<T> raw[unroll];
                float weight[unroll];
#pragma unroll
                for (std::size_t u = 0; u < unroll; ++u) {
                    const std::int32_t slot = start + u < arguments.choices ? slots[start + u] : -1;
                    weight[u] = slot < 0 ? 0.0f : weights[start + u];
                    raw[u] = {};
                    if (slot >= 0) {
                        const std::size_t element =
                            static_cast<std::size_t>(slot) * arguments.hidden + vector * width<T>;
                        raw[u] = load_vector<T>(arguments.packed + element * sizeof(T));
                    }
                }
#pragma unroll
                for (std::size_t u = 0; u < unroll; ++u) {
                    float value[width<T>];
                    widen(raw[u].lane, value);
#pragma unroll
                    for (std::size_t i = 0; i < width<T>; ++i) sum[i] = fmaf(weight[u], value[i], sum[i]);
                }
            }
            Lanes<T> result;
            narrow<T>(sum, result.lane);
            store_vector(arguments.output + (token * arguments.hidden + vector * width<T>)*sizeof(T), result);
        }
        const bool is_aligned = arguments.elements_are_aligned;
        for (std::size_t at = arguments.vectors * width<T> + lane; at < arguments.hidden; at += arguments.lanes) {
            float sum = 0;
            for (std::size_t k = 0; k < arguments.choices; ++k) {
                if (slots[k] < 0) continue;
                const std::size_t element = static_cast<std::size_t>(slots[k]) * arguments.hidden + at;
                const T value = load_element<T>(arguments.packed + element * sizeof(T), is_aligned);
                sum = fmaf(weights[k], widened(value), sum);
            }
            const std::size_t element = token * arguments.hidden + at;
            store_element(arguments.output + element * sizeof(T), narrowed<T>(sum), is_aligned);
        }
    }
}

template <class T>
cudaError_t launch_type(const GpuCombination& what, int at_most, cudaStream_t stream) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool by_vector = what.hidden % width<T> == 0 && address(what.output) % vector_bytes == 0 &&
                           address(what.packed) % vector_bytes == 0;
    const std::size_t vectors = by_vector ? what.hidden / width<T> : 0;
    const Grid grid = grid_for(what.tokens, (by_vector ? vectors : what.hidden) * unroll, at_most);
    const CombineArguments arguments{static_cast<std::byte*>(what.output),
                                     static_cast<const std::byte*>(what.packed),
                                     what.slots,
                                     what.weights,
                                     what.tokens,
                                     what.hidden,
                                     what.choices,
                                     vectors,
                                     grid.lanes,
                                     (address(what.output) | address(what.packed)) % sizeof(T) == 0};
    combine<T><<<grid.blocks, threads, 0, stream>>>(arguments);
    return cudaGetLastError();
}

} // namespace

cudaError_t launch_rows(const GpuRows& rows, RowsWay way, int at_most, cudaStream_t stream) {
    const std::uintptr_t all =
        reinterpret_cast<std::uintptr_t>(rows.rows) | reinterpret_cast<std::uintptr_t>(rows.packed) | rows.row_bytes;
    if (all % sizeof(uint4) == 0) return launch_words<uint4>(rows, way, at_most, stream);
    if (all % sizeof(unsigned) == 0) return launch_words<unsigned>(rows, way, at_most, stream);
    return launch_words<unsigned char>(rows, way, at_most, stream);
}

cudaError_t launch_combine(const GpuCombination& combination, int at_most, cudaStream_t stream) {
    if (combination.type == DataType::f32) return launch_type<float>(combination, at_most, stream);
    if (combination.type == DataType::f16) return launch_type<__half>(combination, at_most, stream);
    return launch_type<__nv_bfloat16>(combination, at_most, stream);
}

} // namespace verbena::gpudirect
