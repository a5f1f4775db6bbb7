#include "gpu_fixture.hpp"

#include <cstdlib>
#include <random>
#include <stdexcept>

#include <cuda_runtime_api.h>

namespace verbena::test {
namespace {

void require(cudaError_t result) {
    if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorName(result));
}

} // namespace

unsigned seed() {
    static const unsigned value = [] {
        const char* text = std::getenv("VERBENA_TEST_SEED");
        return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : std::random_device{}();
    }();
    return value;
}

mem::Spaces& spaces() {
    static mem::Spaces instance("required");
    return instance;
}

Buffer::Buffer(MemoryKind kind, std::size_t bytes)
    : space_(spaces().space(kind)), data_(space_.allocate(bytes, 0)), bytes_(bytes) {
    write(0, std::vector<std::byte>(bytes, std::byte{0xa5}));
}

Buffer::~Buffer() { space_.release(data_); }

void Buffer::write(std::size_t offset, std::span<const std::byte> bytes) const {
    require(cudaMemcpy(data_ + offset, bytes.data(), bytes.size(), cudaMemcpyDefault));
    require(cudaDeviceSynchronize());
}

std::vector<std::byte> Buffer::read() const {
    std::vector<std::byte> bytes(bytes_);
    require(cudaMemcpy(bytes.data(), data_, bytes_, cudaMemcpyDefault));
    return bytes;
}

std::vector<std::byte> random_bytes(std::size_t bytes, std::uint64_t stream) {
    std::mt19937_64 random(seed() + stream * 0x9e3779b97f4a7c15u);
    std::vector<std::byte> result(bytes);
    for (std::byte& byte : result) byte = static_cast<std::byte>(random());
    return result;
}

} // namespace verbena::test
