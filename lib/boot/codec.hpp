/// @file
/// Little-endian integers and length-prefixed strings, written to and read from bytes. One caller at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include <verbena/error.hpp>

namespace verbena::boot {

template <std::unsigned_integral T>
void store_little(unsigned char* out, T value) noexcept {
    for (std::size_t i = 0; i < sizeof(T); ++i) out[i] = static_cast<unsigned char>(value >> (8 * i));
}

template <std::unsigned_integral T>
[[nodiscard]] T load_little(const unsigned char* bytes) noexcept {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | static_cast<T>(T{bytes[i]} << (8 * i)));
    return value;
}

class Writer {
  public:
    template <std::unsigned_integral T>
    void integer(T value) {
        unsigned char bytes[sizeof(T)];
        store_little(bytes, value);
        out_.append(reinterpret_cast<const char*>(bytes), sizeof(T));
    }
    void text(std::string_view value) {
        integer(static_cast<std::uint32_t>(value.size()));
        out_.append(value);
    }
    [[nodiscard]] std::string take() noexcept { return std::move(out_); }

  private:
    std::string out_;
};

/// Reads only what is there: a length never makes it allocate more than the bytes at hand.
class Reader {
  public:
    explicit Reader(std::string_view bytes) noexcept : rest_(bytes) {}

    template <std::unsigned_integral T>
    [[nodiscard]] T integer() {
        return load_little<T>(reinterpret_cast<const unsigned char*>(take(sizeof(T)).data()));
    }
    [[nodiscard]] std::string text(std::size_t limit) {
        const auto length = integer<std::uint32_t>();
        if (length > limit) violation("a string is too long");
        return std::string(take(length));
    }
    [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

    [[noreturn]] static void violation(const char* what) {
        throw Error(ErrorCode::protocol_violation, std::string("store message: ") + what);
    }

  private:
    std::string_view take(std::size_t count) {
        if (count > rest_.size()) violation("ends too early");
        const std::string_view head = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return head;
    }

    std::string_view rest_;
};

} // namespace verbena::boot
