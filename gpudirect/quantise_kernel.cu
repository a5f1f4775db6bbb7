#include <algorithm>
#include <cfloat>

#include "elements.cuh"
#include "quantise_kernel.hpp"

namespace verbena::gpudirect {
namespace {

constexpr int threads = 256;
constexpr int block = static_cast<int>(GpuQuantisation::block);

struct Arguments {
    std::byte* values;
    std::byte* codes;
    float* scales;
    std::size_t count;
    bool is_aligned; ///< values by 16 bytes, codes by those of a thread
};

/// A thread has 16 bytes of the wide type, and as many neighbours as make a scaled block: half a warp or a warp.
template <class Wide>
struct Share {
    static constexpr int values = static_cast<int>(width<Wide>);
    static constexpr int lanes = block / values;
};

constexpr int quantise_unroll = 4; // shares in flight in a thread; dequantise() loads fewer bytes of each
constexpr int dequantise_unroll = 8;

template <class Code, int count>
struct alignas(count) Codes {
    Code lane[count];
};

template <class Code>
constexpr float largest = std::is_same_v<Code, E4m3> ? 448.0f : 57344.0f;

/// Of all lanes that share a scaled block, to all of them.
template <int lanes>
__device__ float maximum(float mine) {
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        mine = fmaxf(mine, __shfl_xor_sync(0xffffffffu, mine, distance));
    return mine;
}

/// The largest magnitude, NaN left out. 16-bit floats two at a time.
template <class Wide>
__device__ float magnitude_of(const Lanes<Wide>& lanes) {
    if constexpr (std::is_same_v<Wide, float>) {
        return fmaxf(fmaxf(fabsf(lanes.lane[0]), fabsf(lanes.lane[1])),
                     fmaxf(fabsf(lanes.lane[2]), fabsf(lanes.lane[3])));
    } else {
        using Pair = std::conditional_t<std::is_same_v<Wide, __half>, __half2, __nv_bfloat162>;
        Pair pairs[width<Wide> / 2];
        memcpy(&pairs, &lanes, sizeof(pairs));
        Pair most = __habs2(pairs[0]);
#pragma unroll
        for (std::size_t i = 1; i < width<Wide> / 2; ++i) most = __hmax2(most, __habs2(pairs[i]));
        return fmaxf(widened(most.x), widened(most.y));
    }
}

template <class Wide>
__device__ float finite_magnitude_of(const Lanes<Wide>& lanes) {
    float most = 0;
    for (std::size_t i = 0; i < width<Wide>; ++i) {
        const float each = fabsf(widened(lanes.lane[i]));
        if (each <= FLT_MAX) most = fmaxf(most, each);
    }
    return most;
}

/// Never so small that its inverse would be infinite.
template <class Code>
__device__ float scale_of(float magnitude) {
    return magnitude > 0 ? fmaxf(magnitude * (1.0f / largest<Code>), FLT_MIN) : 1.0f;
}

/// All threads of the warp together.
template <class Wide, class Code>
__device__ float encode(const Lanes<Wide>& raw, Codes<Code, Share<Wide>::values>& codes) {
    WideLanes<Wide> value;
    widen(raw.lane, value.lane);
    float magnitude = maximum<Share<Wide>::lanes>(magnitude_of(raw));
    const bool all_finite = __all_sync(0xffffffffu, magnitude <= FLT_MAX);
    if (!all_finite) magnitude = maximum<Share<Wide>::lanes>(finite_magnitude_of(raw));
    const float scale = scale_of<Code>(magnitude);
    const float inverse = 1.0f / scale;
#pragma unroll
    for (int i = 0; i < Share<Wide>::values; ++i) value.lane[i] *= inverse;
    if (all_finite)
        narrow_saturated<Code>(value.lane, codes.lane);
    else
        narrow<Code>(value.lane, codes.lane);
    return scale;
}

// Share s of the values is thread s % threads's; the shares of a scaled block lie in one warp. Every thread of a block
// goes through the same number of rounds, because those of a warp exchange their maxima.
template <class Wide, class Code>
__global__ void __launch_bounds__(threads) quantise(const __grid_constant__ Arguments arguments) {
    using Mine = Share<Wide>;
    constexpr int unroll = quantise_unroll;
    constexpr std::size_t tile = std::size_t{threads} * unroll;
    const std::size_t shares = (arguments.count + Mine::values - 1) / Mine::values;
    const std::size_t whole = arguments.is_aligned ? arguments.count / Mine::values : 0;
    const bool is_first = threadIdx.x % Mine::lanes == 0;
    for (std::size_t start = blockIdx.x * tile; start < shares; start += gridDim.x * tile) {
        const std::size_t first = start + threadIdx.x;
        if (start + tile <= whole) {
            Lanes<Wide> raw[unroll];
#pragma unroll
            for (int u = 0; u < unroll; ++u)
                raw[u] = load_vector<Wide>(arguments.values + (first + u * threads) * vector_bytes);
#pragma unroll
            for (int u = 0; u < unroll; ++u) {
                const std::size_t share = first + u * threads;
                Codes<Code, Mine::values> codes;
                const float scale = encode<Wide, Code>(raw[u], codes);
                *reinterpret_cast<Codes<Code, Mine::values>*>(arguments.codes + share * Mine::values) = codes;
                if (is_first) arguments.scales[share / Mine::lanes] = scale;
            }
            continue;
        }
        for (int u = 0; u < unroll; ++u) { // the end, or off alignment: element by element
            const std::size_t share = first + u * threads;
            const std::size_t element = share * Mine::values;
            Lanes<Wide> raw;
            for (int i = 0; i < Mine::values; ++i) {
                raw.lane[i] = element + i < arguments.count
                                  ? load_element<Wide>(arguments.values + (element + i) * sizeof(Wide), false)
                                  : narrowed<Wide>(0.0f);
            }
            Codes<Code, Mine::values> codes;
            const float scale = encode<Wide, Code>(raw, codes);
            for (int i = 0; i < Mine::values; ++i) {
                if (element + i < arguments.count) store_element(arguments.codes + element + i, codes.lane[i], true);
            }
            if (is_first && element < arguments.count) arguments.scales[share / Mine::lanes] = scale;
        }
    }
}

template <class Wide, class Code>
__device__ void decode(const Codes<Code, Share<Wide>::values>& codes, float scale, Lanes<Wide>& raw) {
    WideLanes<Wide> value;
    float code[Share<Wide>::values];
    widen(codes.lane, code);
#pragma unroll
    for (int i = 0; i < Share<Wide>::values; ++i) value.lane[i] = code[i] * scale;
    narrow<Wide>(value.lane, raw.lane);
}

template <class Wide, class Code>
__global__ void __launch_bounds__(threads) dequantise(const __grid_constant__ Arguments arguments) {
    using Mine = Share<Wide>;
    constexpr int unroll = dequantise_unroll;
    constexpr std::size_t tile = std::size_t{threads} * unroll;
    const std::size_t shares = (arguments.count + Mine::values - 1) / Mine::values;
    const std::size_t whole = arguments.is_aligned ? arguments.count / Mine::values : 0;
    for (std::size_t start = blockIdx.x * tile; start < shares; start += gridDim.x * tile) {
        const std::size_t first = start + threadIdx.x;
        if (start + tile <= whole) {
            Codes<Code, Mine::values> codes[unroll];
            float scale[unroll];
#pragma unroll
            for (int u = 0; u < unroll; ++u) {
                const std::size_t share = first + u * threads;
                codes[u] = *reinterpret_cast<const Codes<Code, Mine::values>*>(arguments.codes + share * Mine::values);
                scale[u] = arguments.scales[share / Mine::lanes];
            }
#pragma unroll
            for (int u = 0; u < unroll; ++u) {
                Lanes<Wide> raw;
                decode<Wide, Code>(codes[u], scale[u], raw);
                store_vector(arguments.values + (first + u * threads) * vector_bytes, raw);
            }
            continue;
        }
        for (int u = 0; u < unroll; ++u) {
            const std::size_t share = first + u * threads;
            const std::size_t element = share * Mine::values;
            if (element >= arguments.count) break;
            Codes<Code, Mine::values> codes;
            for (int i = 0; i < Mine::values; ++i)
                codes.lane[i] =
                    element + i < arguments.count ? load_element<Code>(arguments.codes + element + i, true) : Code{0};
            Lanes<Wide> raw;
            decode<Wide, Code>(codes, arguments.scales[share / Mine::lanes], raw);
            for (int i = 0; i < Mine::values; ++i) {
                if (element + i < arguments.count)
                    store_element(arguments.values + (element + i) * sizeof(Wide), raw.lane[i], false);
            }
        }
    }
}

template <class Wide, class Code>
cudaError_t launch(const QuantiseLaunch& launch, cudaStream_t stream) {
    using Mine = Share<Wide>;
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const Arguments arguments{static_cast<std::byte*>(launch.what.values), static_cast<std::byte*>(launch.what.codes),
                              launch.what.scales, launch.what.count,
                              address(launch.what.values) % vector_bytes == 0 &&
                                  address(launch.what.codes) % Mine::values == 0};
    const bool to_codes = launch.way == QuantiseWay::to_codes;
    const std::size_t per_block =
        std::size_t{threads} * (to_codes ? quantise_unroll : dequantise_unroll) * Mine::values;
    std::size_t blocks = (launch.what.count + per_block - 1) / per_block;
    if (launch.at_most > 0) blocks = std::min(blocks, static_cast<std::size_t>(launch.at_most)); // one on each
    const auto kernel = to_codes ? quantise<Wide, Code> : dequantise<Wide, Code>;
    kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(arguments);
    return cudaGetLastError();
}

template <class Wide>
cudaError_t launch_wide(const QuantiseLaunch& what, cudaStream_t stream) {
    return what.what.code == DataType::f8e4m3 ? launch<Wide, E4m3>(what, stream) : launch<Wide, E5m2>(what, stream);
}

} // namespace

cudaError_t launch_quantise(const QuantiseLaunch& launch, cudaStream_t stream) {
    if (launch.what.wide == DataType::f32) return launch_wide<float>(launch, stream);
    if (launch.what.wide == DataType::f16) return launch_wide<__half>(launch, stream);
    return launch_wide<__nv_bfloat16>(launch, stream);
}

} // namespace verbena::gpudirect
