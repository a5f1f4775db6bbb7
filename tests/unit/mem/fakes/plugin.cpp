/// A GPU plug-in without a GPU: everything is managed memory on GPU 3. FAKE_ABI is the ABI that it was built for, and
/// with FAKE_THROWS its entry throws.
#include <cstdlib>
#include <stdexcept>

#include "mem/space.hpp"

namespace {

using namespace verbena;
using namespace verbena::mem;

class FakeSpace final : public Space {
  public:
    MemoryKind kind() const noexcept override { return MemoryKind::managed; }
    bool is_host_accessible() const noexcept override { return false; }
    std::byte* allocate(std::size_t bytes, int) override { return static_cast<std::byte*>(std::malloc(bytes)); }
    void release(std::byte* memory) noexcept override { std::free(memory); }
    void copy(std::byte*, const std::byte*, std::size_t) override {}
    void reduce(DataType, ReduceOp, std::byte*, std::span<const std::byte* const>, std::size_t) override {}
    void divide(DataType, std::byte*, std::size_t, std::uint32_t) override {}
};

class FakeKernels final : public GpuKernels {
  public:
    void reduce(const GpuReduction&, const GpuStream&) override {}
    void quantise(const GpuQuantisation&, const GpuStream&) override {}
    void dequantise(const GpuQuantisation&, const GpuStream&) override {}
    void pack(const GpuRows&, const GpuStream&) override {}
    void unpack(const GpuRows&, const GpuStream&) override {}
    void combine(const GpuCombination&, const GpuStream&) override {}
};

class FakePlugin final : public Plugin {
  public:
    std::vector<GpuInfo> gpus() const override {
        return {GpuInfo{3, "fake", 1, false, "GPU-fake", "0000:00:03.0", 0, {}, {}}};
    }
    std::string describe() const override { return "fake 1.0"; }
    Classification classify(const void*) const override { return {MemoryKind::managed, 3, {}}; }
    Space& space(MemoryKind) override { return space_; }
    GpuKernels& kernels() override { return kernels_; }
    std::optional<SharedMemory> share(const std::byte*) override { return std::nullopt; }
    void copy_shared(std::byte*, const SharedMemory&, std::size_t) override {}

  private:
    FakeKernels kernels_;
    FakeSpace space_;
};

} // namespace

extern "C" [[gnu::visibility("default")]] Plugin* verbena_memory_plugin(std::uint32_t abi, const char** why) {
#ifdef FAKE_THROWS
    throw std::runtime_error("the entry threw");
#endif
    if (abi != FAKE_ABI) {
        *why = "built for another ABI";
        return nullptr;
    }
    static FakePlugin instance;
    return &instance;
}
