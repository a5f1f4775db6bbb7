#include "boot/handshake.hpp"

#include "boot/codec.hpp"

namespace verbena::boot {
namespace {

void append(std::string& out, std::span<const unsigned char> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

} // namespace

StoreHandshake::Verdict StoreHandshake::advance(std::size_t count, std::string& reply) {
    filled_ += count;
    if (filled_ < wanted_) return Verdict::more;
    switch (stage_) {
    case Stage::head:
        return read_head(reply);
    case Stage::hello:
        return read_hello(reply);
    case Stage::proof:
        return read_proof(reply);
    }
    return Verdict::refused;
}

StoreHandshake::Verdict StoreHandshake::read_head(std::string& reply) {
    const auto head = read_hello_head(buffer_.data());
    if (!head) return Verdict::refused; // not one of us: say nothing
    if (head->version != protocol_version) {
        append(reply, make_hello(Answer::other_version, {}));
        return Verdict::refused;
    }
    stage_ = Stage::hello;
    wanted_ = hello_bytes;
    return Verdict::more;
}

StoreHandshake::Verdict StoreHandshake::read_hello(std::string& reply) {
    const HelloBytes ours = make_hello(Answer::accepted, random_nonce());
    session_.emplace(key_, buffer_, ours);
    append(reply, ours);
    stage_ = Stage::proof;
    filled_ = 0;
    wanted_ = proof_bytes;
    return Verdict::more;
}

StoreHandshake::Verdict StoreHandshake::read_proof(std::string& reply) {
    const bool proven = session_->is_proof(Role::client, buffer_.data());
    reply +=
        proven ? make_verdict(Answer::accepted, session_->proof(Role::store)) : make_verdict(Answer::wrong_secret, {});
    return proven ? Verdict::established : Verdict::refused;
}

std::string make_verdict(Answer answer, const Proof& proof) {
    std::string verdict(sizeof(std::uint32_t), '\0');
    store_little(reinterpret_cast<unsigned char*>(verdict.data()), static_cast<std::uint32_t>(answer));
    append(verdict, proof);
    return verdict;
}

} // namespace verbena::boot
