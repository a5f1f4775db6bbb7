#include "boot/crypto.hpp"

#include <sodium.h>

#include <verbena/error.hpp>

#include "boot/codec.hpp"

namespace verbena::boot {
namespace {

static_assert(crypto_generichash_KEYBYTES == sizeof(Key::bytes) && crypto_secretbox_KEYBYTES == sizeof(Key::bytes));
static_assert(proof_bytes <= crypto_generichash_BYTES_MAX);

void start_sodium() {
    if (sodium_init() < 0) throw Error(ErrorCode::unavailable, "libsodium found no source of random numbers");
}

using BoxNonce = std::array<unsigned char, crypto_secretbox_NONCEBYTES>;

BoxNonce box_nonce(std::uint64_t number) noexcept {
    BoxNonce nonce{};
    store_little(nonce.data(), number);
    return nonce;
}

unsigned char* bytes_of(std::string& text, std::size_t offset) noexcept {
    return reinterpret_cast<unsigned char*>(text.data()) + offset;
}

const unsigned char* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}

} // namespace

Key::~Key() { sodium_memzero(bytes.data(), bytes.size()); }

Key key_from(std::string_view secret) {
    start_sodium();
    if (secret.empty())
        throw Error(ErrorCode::invalid_argument, "the job's secret is empty", "give it one byte or more");
    constexpr std::string_view label = "verbena store secret";
    Key key;
    crypto_generichash(key.bytes.data(), key.bytes.size(), bytes_of(secret), secret.size(), bytes_of(label),
                       label.size());
    return key;
}

Nonce random_nonce() {
    start_sodium();
    Nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

void Session::hash(std::string_view label, unsigned char* out) const {
    crypto_generichash_state state;
    crypto_generichash_init(&state, key_.bytes.data(), key_.bytes.size(), 32);
    crypto_generichash_update(&state, bytes_of(label), label.size());
    crypto_generichash_update(&state, client_.data(), client_.size());
    crypto_generichash_update(&state, store_.data(), store_.size());
    crypto_generichash_final(&state, out, 32);
    sodium_memzero(&state, sizeof state);
}

Proof Session::proof(Role by) const {
    Proof proof;
    hash(by == Role::client ? "client proof" : "store proof ", proof.data());
    return proof;
}

bool Session::is_proof(Role by, const unsigned char* proof) const {
    return sodium_memcmp(this->proof(by).data(), proof, proof_bytes) == 0;
}

Key Session::record_key(Role sender) const {
    Key key;
    hash(sender == Role::client ? "to the store" : "to a client ", key.bytes.data());
    return key;
}

void Sealer::seal(std::string_view message, std::string& out) {
    const std::size_t boxed = message.size() + crypto_secretbox_MACBYTES;
    if (boxed > max_record_bytes) {
        throw Error(ErrorCode::internal, "a store message is longer than a record may be");
    }
    const std::size_t start = out.size();
    out.resize(start + sizeof(std::uint32_t) + boxed);
    store_little(bytes_of(out, start), static_cast<std::uint32_t>(boxed));
    crypto_secretbox_easy(bytes_of(out, start + sizeof(std::uint32_t)), bytes_of(message), message.size(),
                          box_nonce(number_++).data(), key_.bytes.data());
}

std::optional<std::string> Opener::next() {
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    std::size_t boxed = 0;
    if (rest.size() >= sizeof(std::uint32_t)) {
        boxed = load_little<std::uint32_t>(bytes_of(rest));
        if (boxed < crypto_secretbox_MACBYTES || boxed > limit_) Reader::violation("a record of impossible length");
    }
    if (boxed == 0 || rest.size() < sizeof(std::uint32_t) + boxed) {
        buffer_.erase(0, begin_);
        begin_ = 0;
        return std::nullopt;
    }
    std::string message(boxed - crypto_secretbox_MACBYTES, '\0');
    if (crypto_secretbox_open_easy(bytes_of(message, 0), bytes_of(rest.substr(sizeof(std::uint32_t))), boxed,
                                   box_nonce(number_).data(), key_.bytes.data()) != 0) {
        throw Error(ErrorCode::refused, "a record to or from the store was altered on its way");
    }
    ++number_;
    begin_ += sizeof(std::uint32_t) + boxed;
    return message;
}

} // namespace verbena::boot
