#include "catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include <verbena/error.hpp>

#include "coll/reduce.hpp"
#include "gpu_stream.hpp"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr DataType all_types[] = {DataType::i8,  DataType::u8,   DataType::i32,    DataType::u32,
                                  DataType::i64, DataType::u64,  DataType::f32,    DataType::f64,
                                  DataType::f16, DataType::bf16, DataType::f8e4m3, DataType::f8e5m2};
constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max};

bool is_float(DataType type) { return type >= DataType::f32; }

double value_of(DataType type, const std::byte* at) {
    const auto as = [at](auto element) {
        std::memcpy(&element, at, sizeof(element));
        return element;
    };
    switch (type) {
    case DataType::f32:
        return static_cast<double>(as(float{}));
    case DataType::f64:
        return as(double{});
    case DataType::f16:
        return static_cast<double>(to_float(as(Float16{})));
    case DataType::bf16:
        return static_cast<double>(to_float(as(Bfloat16{})));
    case DataType::f8e4m3:
        return static_cast<double>(to_float(as(Float8E4m3{})));
    default:
        return static_cast<double>(to_float(as(Float8E5m2{})));
    }
}

/// What one rounding to the type may change, of the value itself.
double half_step(DataType type) {
    switch (type) {
    case DataType::f32:
        return 0x1p-24;
    case DataType::f64:
        return 0x1p-53;
    case DataType::f16:
        return 0x1p-11;
    case DataType::bf16:
        return 0x1p-8;
    case DataType::f8e4m3:
        return 0x1p-4;
    default:
        return 0x1p-3;
    }
}

void store(DataType type, std::byte* at, double value) {
    const auto as = [at](auto element) { std::memcpy(at, &element, sizeof(element)); };
    if (type == DataType::f32)
        as(static_cast<float>(value));
    else if (type == DataType::f64)
        as(value);
    else if (type == DataType::f16)
        as(to_float16(static_cast<float>(value)));
    else if (type == DataType::bf16)
        as(to_bfloat16(static_cast<float>(value)));
    else if (type == DataType::f8e4m3)
        as(to_float8_e4m3(static_cast<float>(value)));
    else
        as(to_float8_e5m2(static_cast<float>(value)));
}

/// Inputs and output of one reduction, on the GPU and here, each at its own distance from a boundary.
class Case {
  public:
    Case(DataType type, std::size_t inputs, std::size_t count, std::mt19937_64& random, bool alike)
        : type_(type), count_(count), output_(MemoryKind::device, bytes() + 64) {
        const std::size_t together = random() % 2 == 0 ? 0 : random() % (16 / size_of(type)) * size_of(type);
        output_offset_ = alike ? together : random() % 32;
        for (std::size_t i = 0; i < inputs; ++i) {
            offsets_.push_back(alike ? together + random() % 2 * 16 : random() % 32);
            buffers_.push_back(std::make_unique<Buffer>(MemoryKind::device, bytes() + 64));
        }
    }
    [[nodiscard]] std::size_t bytes() const { return count_ * size_of(type_); }

    void set_inputs(std::vector<std::vector<std::byte>> inputs) {
        host_ = std::move(inputs);
        for (std::size_t i = 0; i < host_.size(); ++i) {
            if (count_ != 0) buffers_[i]->write(offsets_[i], host_[i]);
            pointers_.push_back(buffers_[i]->data() + offsets_[i]);
        }
    }
    [[nodiscard]] GpuReduction reduction(ReduceOp op) const {
        GpuReduction reduction;
        reduction.type = type_;
        reduction.op = op;
        reduction.output = output_.data() + output_offset_;
        reduction.inputs = pointers_;
        reduction.count = count_;
        return reduction;
    }
    /// The result; that nothing beside it was written is checked.
    [[nodiscard]] std::vector<std::byte> result() const {
        const std::vector<std::byte> all = output_.read();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const bool is_inside = i >= output_offset_ && i < output_offset_ + bytes();
            if (!is_inside && all[i] != std::byte{0xa5}) FAIL("byte " << i << " beside the output was written");
        }
        return {all.begin() + static_cast<std::ptrdiff_t>(output_offset_),
                all.begin() + static_cast<std::ptrdiff_t>(output_offset_ + bytes())};
    }
    [[nodiscard]] std::vector<std::byte> on_host(ReduceOp op) const {
        std::vector<const std::byte*> inputs;
        for (const auto& each : host_) inputs.push_back(each.data());
        std::vector<std::byte> output(bytes());
        coll::reduce(type_, op, output.data(), inputs, count_);
        return output;
    }
    [[nodiscard]] double input(std::size_t i, std::size_t element) const {
        return value_of(type_, host_[i].data() + element * size_of(type_));
    }

  private:
    DataType type_;
    std::size_t count_;
    Buffer output_;
    std::size_t output_offset_ = 0;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<std::size_t> offsets_;
    std::vector<std::vector<std::byte>> host_;
    std::vector<const void*> pointers_;
};

bool same(DataType type, const std::byte* a, const std::byte* b) {
    if (std::memcmp(a, b, size_of(type)) == 0) return true;
    return is_float(type) && std::isnan(value_of(type, a)) && std::isnan(value_of(type, b));
}

std::vector<std::byte> values(DataType type, std::size_t count, std::mt19937_64& random, double limit) {
    std::vector<std::byte> bytes(count * size_of(type));
    for (std::size_t i = 0; i < count; ++i)
        store(type, bytes.data() + i * size_of(type), std::uniform_real_distribution<double>(-limit, limit)(random));
    return bytes;
}

} // namespace

TEST_CASE("any bits, NaN, infinities and subnormals among them, reduce as the host reduces them") {
    std::mt19937_64 random(seed());
    const TestStream stream;
    for (const DataType type : all_types) {
        for (const ReduceOp op : all_ops) {
            for (const std::size_t inputs : {2u, 3u, 4u, 5u, 8u, 9u, 16u}) {
                const std::size_t count = random() % 3 == 0 ? random() % 40 : 5000 + random() % 20000;
                const bool alike = random() % 3 != 0;
                CAPTURE(seed(), name(type), name(op), inputs, count, alike);
                Case each(type, inputs, count, random, alike);
                std::vector<std::vector<std::byte>> bits;
                for (std::size_t i = 0; i < inputs; ++i) bits.push_back(random_bytes(each.bytes(), random()));
                each.set_inputs(std::move(bits));
                kernels().reduce(each.reduction(op), stream.on(random() % 4 == 0 ? 3 : 0));
                stream.wait();
                const std::vector<std::byte> got = each.result();
                const std::vector<std::byte> expected = each.on_host(op);
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < count; ++i)
                    wrong += !same(type, &got[i * size_of(type)], &expected[i * size_of(type)]);
                REQUIRE(wrong == 0);
            }
        }
    }
}

TEST_CASE("sums, averages and pre-multiplied sums of floats lie within rounding of a double reference") {
    std::mt19937_64 random(seed());
    const TestStream stream;
    for (std::size_t round = 0; round < 120; ++round) {
        const DataType type = all_types[6 + round % 6];
        const std::size_t inputs = 1 + random() % 16;
        const std::size_t count = 1 + random() % 30000;
        const ReduceOp op = random() % 2 == 0 ? ReduceOp::sum : ReduceOp::avg;
        Case each(type, inputs, count, random, random() % 4 != 0);
        std::vector<std::vector<std::byte>> drawn;
        for (std::size_t i = 0; i < inputs; ++i) drawn.push_back(values(type, count, random, 2));
        each.set_inputs(std::move(drawn));
        GpuReduction reduction = each.reduction(op);
        std::vector<double> factors;
        if (random() % 2 == 0) {
            for (std::size_t i = 0; i < inputs; ++i)
                factors.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
        }
        reduction.factors = factors;
        reduction.divisor = random() % 2 == 0 ? 0 : 7;
        CAPTURE(seed(), round, name(type), name(op), inputs, count, factors.size(), reduction.divisor);
        kernels().reduce(reduction, stream.on());
        stream.wait();
        const std::vector<std::byte> got = each.result();
        const double divisor =
            op == ReduceOp::sum ? 1 : static_cast<double>(reduction.divisor == 0 ? inputs : reduction.divisor);
        const double inner = type == DataType::f64 ? 0x1p-53 : 0x1p-24; // what the sum is computed in
        for (std::size_t j = 0; j < count; ++j) {
            double exact = 0;
            double magnitude = 0;
            for (std::size_t i = 0; i < inputs; ++i) {
                const double term = each.input(i, j) * (factors.empty() ? 1 : factors[i]);
                exact += term;
                magnitude += std::fabs(term);
            }
            exact /= divisor;
            const double smallest = type == DataType::f8e4m3 ? 0x1p-10 : type == DataType::f8e5m2 ? 0x1p-17 : 0x1p-25;
            const double bound = (static_cast<double>(inputs) * 2 + 4) * inner * magnitude / divisor +
                                 std::max(half_step(type) * std::fabs(exact), smallest) * 1.001;
            const double seen = value_of(type, &got[j * size_of(type)]);
            if (!(std::fabs(seen - exact) <= bound)) FAIL("element " << j << ": " << seen << " for " << exact);
        }
    }
}

TEST_CASE("integer averages truncate toward zero, also where the divisor does not fit the type") {
    const TestStream stream;
    const Buffer memory(MemoryKind::device, 64);
    put<std::int8_t>(memory, 0, {-128, -7, -1, 0, 1, 7, 100, 127});
    const void* inputs[] = {memory.data()};
    GpuReduction reduction;
    reduction.type = DataType::i8;
    reduction.op = ReduceOp::avg;
    reduction.output = memory.data();
    reduction.inputs = inputs;
    reduction.count = 8;
    reduction.divisor = 3;
    kernels().reduce(reduction, stream.on());
    stream.wait();
    CHECK(get<std::int8_t>(memory, 0, 8) == std::vector<std::int8_t>{-42, -2, 0, 0, 0, 2, 33, 42});
    reduction.divisor = 300;
    kernels().reduce(reduction, stream.on());
    stream.wait();
    CHECK(get<std::int8_t>(memory, 0, 8) == std::vector<std::int8_t>(8, 0));
}

TEST_CASE("dividing in a space is what the host does when an average ends") {
    std::mt19937_64 random(seed());
    for (const DataType type : all_types) {
        const std::size_t count = 1000 + random() % 100;
        const Buffer memory(MemoryKind::device, count * size_of(type));
        std::vector<std::byte> bits = random_bytes(count * size_of(type), random());
        memory.write(0, bits);
        spaces().space(MemoryKind::device).divide(type, memory.data(), count, 6);
        coll::finish(type, ReduceOp::avg, bits.data(), count, 6);
        const std::vector<std::byte> got = memory.read();
        CAPTURE(seed(), name(type));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) wrong += !same(type, &got[i * size_of(type)], &bits[i * size_of(type)]);
        CHECK(wrong == 0);
    }
}

TEST_CASE("a reduction takes its turn in the caller's stream and does not block the host") {
    constexpr std::size_t count = std::size_t{64} << 20;
    const TestStream stream;
    const Buffer first(MemoryKind::device, count * 4);
    const Buffer sum(MemoryKind::device, count * 4);
    const std::vector<float> ones(count, 1.0f);
    const Buffer source(MemoryKind::pinned, count * 4);
    put(source, 0, ones);
    const void* inputs[] = {first.data(), first.data()};
    GpuReduction reduction;
    reduction.output = sum.data();
    reduction.inputs = inputs;
    reduction.count = count;
    must(cudaMemcpyAsync(first.data(), source.data(), count * 4, cudaMemcpyDefault, stream.get())); // some 5 ms
    kernels().reduce(reduction, stream.on());
    CHECK(cudaStreamQuery(stream.get()) == cudaErrorNotReady); // we are back, and the copy is still under way
    stream.wait();
    CHECK(get<float>(sum, (count - 1) * 4, 1)[0] == 2.0f); // 0xa5.. twice had it not waited
}

TEST_CASE("kernels can be captured in a CUDA graph, which repeats them") {
    const TestStream stream;
    const Buffer memory(MemoryKind::device, 4096);
    put(memory, 0, std::vector<float>(1024, 1.0f));
    const void* inputs[] = {memory.data(), memory.data()};
    GpuReduction reduction;
    reduction.output = memory.data();
    reduction.inputs = inputs;
    reduction.count = 1024;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t run = nullptr;
    must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    kernels().reduce(reduction, stream.on());
    must(cudaStreamEndCapture(stream.get(), &graph));
    CHECK(get<float>(memory, 0, 1)[0] == 1.0f); // captured, not run
    must(cudaGraphInstantiate(&run, graph, 0));
    for (int i = 0; i < 5; ++i) must(cudaGraphLaunch(run, stream.get()));
    stream.wait();
    CHECK(get<float>(memory, 0, 1024) == std::vector<float>(1024, 32.0f));
    cudaGraphExecDestroy(run);
    cudaGraphDestroy(graph);
}

TEST_CASE("a kernel is refused memory that it would fault on, with its kind and what would help") {
    const TestStream stream;
    const Buffer device(MemoryKind::device, 256);
    const Buffer host(MemoryKind::host, 256);
    const Buffer pinned(MemoryKind::pinned, 256);
    const auto refused = [&](const void* input, void* output, const char* reason) {
        const void* inputs[] = {input, device.data()};
        GpuReduction reduction;
        reduction.output = output;
        reduction.inputs = inputs;
        reduction.count = 16;
        try {
            kernels().reduce(reduction, stream.on());
            FAIL("enqueued");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK_THAT(error.what(), VERBENA_CONTAINS(reason));
        }
    };
    refused(host.data(), device.data(), "is host memory");
    refused(device.data(), pinned.data(), "is pinned memory");
    refused(nullptr, device.data(), "an input is null");
    GpuReduction beyond; // more than any allocation near it holds
    const void* whole[] = {device.data()};
    beyond.inputs = whole;
    beyond.output = device.data();
    beyond.count = std::size_t{1} << 40;
    CHECK_THROWS_AS(kernels().reduce(beyond, stream.on()), Error);
    GpuReduction many;
    const std::vector<const void*> inputs(17, device.data());
    many.inputs = inputs;
    CHECK_THROWS_AS(kernels().reduce(many, stream.on()), Error);
    const double factors[] = {1, 2};
    const void* two[] = {device.data(), device.data()};
    GpuReduction product;
    product.op = ReduceOp::prod;
    product.inputs = two;
    product.factors = factors;
    CHECK_THROWS_AS(kernels().reduce(product, stream.on()), Error);
}
