#include "boot/protocol.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "boot/codec.hpp"

namespace verbena::boot {
namespace {

/// Each message's fields, once, for both directions: `f` is an Encoder or a Decoder.
void fields(auto& f, Join& m) { f.all(m.rank, m.size, f.name(m.host)); }
void fields(auto& f, Put& m) { f.all(f.name(m.key), m.value); }
void fields(auto& f, Get& m) { f.all(m.request, f.name(m.key)); }
void fields(auto& f, Contribute& m) { f.all(f.name(m.name), m.round, m.value); }
void fields(auto& f, AskMissing& m) { f.all(f.name(m.name), m.round); }
void fields(auto&, Leave&) {}
void fields(auto& f, Welcome& m) { f.all(m.admission, m.size, m.store_rank, f.name(m.holder)); }
void fields(auto& f, Value& m) { f.all(m.request, m.value); }
void fields(auto& f, Gathered& m) { f.all(f.name(m.name), m.round, m.first_rank, m.values); }
void fields(auto& f, MissingRank& m) { f.all(m.rank, f.name(m.host)); }
void fields(auto& f, Missing& m) { f.all(f.name(m.name), m.round, m.total, m.ranks); }
void fields(auto& f, Unfinishable& m) { f.all(f.name(m.name), m.round, m.who); }
void fields(auto& f, RankLeft& m) { f.all(m.rank); }
void fields(auto& f, RankLost& m) { f.all(m.rank, f.name(m.reason)); }
void fields(auto&, Closing&) {}

/// A string under the limit for names; other strings are values.
struct Name {
    std::string& text;
};

class Encoder {
  public:
    static Name name(std::string& text) { return {text}; }
    void all(auto&&... items) { (one(items), ...); }
    [[nodiscard]] std::string take() { return writer_.take(); }

    template <std::unsigned_integral T>
    void one(T& value) {
        writer_.integer(value);
    }
    template <class T>
    requires std::is_enum_v<T>
    void one(T& value) { writer_.integer(static_cast<std::underlying_type_t<T>>(value)); }
    void one(const Name& name) { writer_.text(std::string_view(name.text).substr(0, max_name_bytes)); }
    void one(std::string& value) { writer_.text(value); }
    void one(MissingRank& rank) { fields(*this, rank); }
    template <class T>
    void one(std::optional<T>& value) {
        writer_.integer(static_cast<std::uint8_t>(value.has_value()));
        if (value) one(*value);
    }
    template <class T>
    void one(std::vector<T>& list) {
        writer_.integer(static_cast<std::uint32_t>(list.size()));
        for (T& item : list) one(item);
    }

  private:
    Writer writer_;
};

class Decoder {
  public:
    explicit Decoder(std::string_view bytes) : reader_(bytes) {}
    static Name name(std::string& text) { return {text}; }
    void all(auto&&... items) { (one(items), ...); }
    [[nodiscard]] std::size_t left() const { return reader_.left(); }

    template <std::unsigned_integral T>
    void one(T& value) {
        value = reader_.integer<T>();
    }
    void one(Admission& value) {
        const auto code = reader_.integer<std::uint8_t>();
        if (code > static_cast<std::uint8_t>(Admission::rank_is_over)) Reader::violation("unknown admission");
        value = static_cast<Admission>(code);
    }
    void one(const Name& name) { name.text = reader_.text(max_name_bytes); }
    void one(std::string& value) { value = reader_.text(max_value_bytes); }
    void one(MissingRank& rank) { fields(*this, rank); }
    template <class T>
    void one(std::optional<T>& value) {
        if (reader_.integer<std::uint8_t>() != 0) one(value.emplace());
    }
    template <class T>
    void one(std::vector<T>& list) {
        const auto count = reader_.integer<std::uint32_t>();
        // Every item takes at least its own length field: a count beyond that is a lie, and never reserved.
        if (count > reader_.left() / sizeof(std::uint32_t)) Reader::violation("a list is longer than its message");
        list.resize(count);
        for (T& item : list) one(item);
    }

  private:
    Reader reader_;
};

template <std::size_t... I>
Message blank(std::size_t index, std::index_sequence<I...>) {
    Message message;
    ((index == I ? void(message.emplace<I>()) : void()), ...);
    return message;
}

} // namespace

std::string encode(const Message& message) {
    Encoder encoder;
    auto type = static_cast<std::uint8_t>(message.index());
    encoder.one(type);
    Message copy = message;
    std::visit([&](auto& m) { fields(encoder, m); }, copy);
    return encoder.take();
}

Message decode(std::string_view bytes) {
    Decoder decoder(bytes);
    std::uint8_t type = 0;
    decoder.one(type);
    if (type >= std::variant_size_v<Message>) Reader::violation("unknown type");
    Message message = blank(type, std::make_index_sequence<std::variant_size_v<Message>>());
    std::visit([&](auto& m) { fields(decoder, m); }, message);
    if (decoder.left() != 0) Reader::violation("bytes after its end");
    return message;
}

HelloBytes make_hello(Answer answer, const Nonce& nonce) {
    HelloBytes hello{};
    std::memcpy(hello.data(), protocol_magic.data(), protocol_magic.size());
    store_little(hello.data() + 4, protocol_version);
    store_little(hello.data() + 6, static_cast<std::uint16_t>(answer));
    std::copy(nonce.begin(), nonce.end(), hello.begin() + hello_head_bytes);
    return hello;
}

std::optional<HelloHead> read_hello_head(const unsigned char* bytes) {
    if (std::memcmp(bytes, protocol_magic.data(), protocol_magic.size()) != 0) return std::nullopt;
    return HelloHead{load_little<std::uint16_t>(bytes + 4), static_cast<Answer>(load_little<std::uint16_t>(bytes + 6))};
}

} // namespace verbena::boot
