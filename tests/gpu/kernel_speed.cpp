/// Prints what the kernels take on this GPU beside a device-to-device copy of the same run, as CSV; judges nothing.
/// Times are of the GPU (events around many launches), medians; bytes are all that must be read and written.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>

#include "gpu_stream.hpp"

using namespace verbena;
using namespace verbena::test;

void launch_nothing(void* stream);

namespace {

using Work = std::function<void()>;

/// Median microseconds of one `work`, `repeat` of them between two events.
double microseconds(const TestStream& stream, int repeat, const Work& work) {
    cudaEvent_t start = nullptr;
    cudaEvent_t end = nullptr;
    must(cudaEventCreate(&start));
    must(cudaEventCreate(&end));
    for (int i = 0; i < 3; ++i) work();
    stream.wait();
    std::vector<double> samples;
    for (int i = 0; i < 15; ++i) {
        must(cudaEventRecord(start, stream.get()));
        for (int r = 0; r < repeat; ++r) work();
        must(cudaEventRecord(end, stream.get()));
        stream.wait();
        float milliseconds = 0;
        must(cudaEventElapsedTime(&milliseconds, start, end));
        samples.push_back(static_cast<double>(milliseconds) * 1e3 / repeat);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(end);
    std::nth_element(samples.begin(), samples.begin() + 7, samples.end());
    return samples[7];
}

/// The same, as nodes of a CUDA graph: without what the host needs for each launch.
double in_graph(const TestStream& stream, const Work& work) {
    constexpr int nodes = 100;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t run = nullptr;
    must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; ++i) work();
    must(cudaStreamEndCapture(stream.get(), &graph));
    must(cudaGraphInstantiate(&run, graph, 0));
    const double time = microseconds(stream, 1, [&] { must(cudaGraphLaunch(run, stream.get())); }) / nodes;
    cudaGraphExecDestroy(run);
    cudaGraphDestroy(graph);
    return time;
}

void line(const char* what, const char* type, std::size_t inputs, std::size_t size, double bytes, double time,
          double copy_rate) {
    const double rate = bytes / time / 1e6;
    std::printf("%s,%s,%zu,%zu,%.2f,%.3f,%.3f\n", what, type, inputs, size, time, rate,
                copy_rate > 0 ? rate / copy_rate : 1.0);
}

constexpr std::size_t mib = std::size_t{1} << 20;

} // namespace

int main() {
    const TestStream stream;
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int i = 0; i < 9; ++i) {
        buffers.push_back(std::make_unique<Buffer>(MemoryKind::device, 1024 * mib));
        // Without the upper exponent bit: numbers of ordinary size in every type, whose sums stay in range.
        std::vector<std::byte> random = random_bytes(64 * mib, static_cast<std::uint64_t>(i));
        for (std::byte& each : random) each &= std::byte{0xbf};
        for (std::size_t at = 0; at < 1024 * mib; at += random.size()) buffers.back()->write(at, random);
    }
    std::printf("what,type,inputs,bytes_each,us,TB_per_s,of_copy\n");
    for (const std::size_t size : {1 * mib, 4 * mib, 16 * mib, 64 * mib, 256 * mib, 1024 * mib}) {
        const int repeat = static_cast<int>(std::max<std::size_t>(2, 512 * mib / size));
        const double copy = microseconds(stream, repeat, [&] {
            must(cudaMemcpyAsync(buffers[8]->data(), buffers[0]->data(), size, cudaMemcpyDeviceToDevice, stream.get()));
        });
        const double copy_rate = 2.0 * static_cast<double>(size) / copy / 1e6;
        line("copy", "bytes", 1, size, 2.0 * static_cast<double>(size), copy, 0);
        for (const DataType type : {DataType::f32, DataType::bf16, DataType::f16, DataType::f8e4m3, DataType::f8e5m2}) {
            for (const std::size_t inputs : {2u, 4u, 8u}) {
                std::vector<const void*> pointers;
                for (std::size_t i = 0; i < inputs; ++i) pointers.push_back(buffers[i]->data());
                GpuReduction reduction;
                reduction.type = type;
                reduction.output = buffers[8]->data();
                reduction.inputs = pointers;
                reduction.count = size / size_of(type);
                for (const int multiprocessors : {0, 16, 32}) {
                    if (multiprocessors != 0 && size != 256 * mib) continue;
                    const double time =
                        microseconds(stream, repeat, [&] { kernels().reduce(reduction, stream.on(multiprocessors)); });
                    line(multiprocessors == 0    ? "sum"
                         : multiprocessors == 16 ? "sum_on_16_multiprocessors"
                                                 : "sum_on_32_multiprocessors",
                         name(type).data(), inputs, size, static_cast<double>(size * (inputs + 1)), time, copy_rate);
                }
            }
        }
        GpuQuantisation quantisation;
        quantisation.values = buffers[0]->data();
        quantisation.codes = buffers[8]->data();
        quantisation.scales = reinterpret_cast<float*>(buffers[7]->data());
        for (const DataType wide : {DataType::bf16, DataType::f32}) {
            quantisation.wide = wide;
            quantisation.count = size / size_of(wide);
            const double bytes = static_cast<double>(size + quantisation.count + quantisation.count / 32);
            line("quantise", name(wide).data(), 1, size, bytes,
                 microseconds(stream, repeat, [&] { kernels().quantise(quantisation, stream.on()); }), copy_rate);
            line("dequantise", name(wide).data(), 1, size, bytes,
                 microseconds(stream, repeat, [&] { kernels().dequantise(quantisation, stream.on()); }), copy_rate);
        }
        constexpr std::size_t row_bytes = 14336; // 7168 values of bf16
        std::vector<std::int32_t> index(size / row_bytes);
        std::iota(index.begin(), index.end(), 0);
        std::reverse(index.begin(), index.end());
        for (std::size_t i = 0; i + 7 < index.size(); i += 13) std::swap(index[i], index[i + 7]);
        put(*buffers[7], 0, index);
        const GpuRows rows{reinterpret_cast<const std::int32_t*>(buffers[7]->data()), index.size(), row_bytes,
                           buffers[0]->data(), buffers[8]->data()};
        const double moved = 2.0 * static_cast<double>(index.size() * row_bytes);
        line("pack", "bytes", 1, size, moved, microseconds(stream, repeat, [&] { kernels().pack(rows, stream.on()); }),
             copy_rate);
        line("unpack", "bytes", 1, size, moved,
             microseconds(stream, repeat, [&] { kernels().unpack(rows, stream.on()); }), copy_rate);
        if (index.size() < 8) continue;
        constexpr std::size_t choices = 8; // every slot chosen once: as many rows read as there are
        put(*buffers[6], 0, std::vector<float>(index.size(), 0.125F));
        GpuCombination combination;
        combination.output = buffers[8]->data();
        combination.packed = buffers[0]->data();
        combination.slots = rows.index;
        combination.weights = reinterpret_cast<const float*>(buffers[6]->data());
        combination.tokens = index.size() / choices;
        combination.hidden = row_bytes / 2;
        combination.choices = choices;
        line("combine", "bf16", choices, size, static_cast<double>(combination.tokens * (choices + 1) * row_bytes),
             microseconds(stream, repeat, [&] { kernels().combine(combination, stream.on()); }), copy_rate);
    }
    const void* inputs[] = {buffers[0]->data(), buffers[1]->data()};
    GpuReduction small;
    small.output = buffers[8]->data();
    small.inputs = inputs;
    small.count = 256;
    const Work reduce = [&] { kernels().reduce(small, stream.on()); };
    const Work nothing = [&] { launch_nothing(stream.get()); };
    std::printf("empty launch: %.2f us alone between events, %.2f us as a node of a graph\n",
                microseconds(stream, 1, nothing), in_graph(stream, nothing));
    std::printf("sum of 2 x 1 KiB f32: %.2f us alone between events, %.2f us as a node of a graph\n",
                microseconds(stream, 1, reduce), in_graph(stream, reduce));
}
