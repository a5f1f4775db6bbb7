#include "catch.hpp"

#include <verbena/error.hpp>

#include "boot/crypto.hpp"
#include "boot/handshake.hpp"

using namespace verbena;
using namespace verbena::boot;

namespace {

Session session_of(std::string_view secret, unsigned char client = 1, unsigned char store = 2) {
    return {key_from(secret), make_hello(Answer::accepted, Nonce{client}), make_hello(Answer::accepted, Nonce{store})};
}

std::string sealed(Sealer& sealer, std::string_view message) {
    std::string record;
    sealer.seal(message, record);
    return record;
}

/// Plays a client's bytes to the store's side, `step` at a time; the reply and the last verdict.
StoreHandshake::Verdict play(StoreHandshake& handshake, std::string_view bytes, std::size_t step, std::string& reply) {
    auto verdict = StoreHandshake::Verdict::more;
    while (!bytes.empty() && verdict == StoreHandshake::Verdict::more) {
        const auto space = handshake.space();
        const std::size_t count = std::min({space.size(), bytes.size(), step});
        std::copy_n(bytes.begin(), count, space.begin());
        bytes.remove_prefix(count);
        verdict = handshake.advance(count, reply);
    }
    return verdict;
}

std::string_view text(const auto& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

} // namespace

TEST_CASE("a proof holds for its secret, its role and its connection alone") {
    const Session session = session_of("secret");
    const Proof proof = session.proof(Role::client);
    CHECK(session_of("secret").is_proof(Role::client, proof.data()));
    CHECK_FALSE(session.is_proof(Role::store, proof.data()));
    CHECK_FALSE(session_of("Secret").is_proof(Role::client, proof.data()));
    CHECK_FALSE(session_of("secret", 3).is_proof(Role::client, proof.data()));
    CHECK_FALSE(session_of("secret", 1, 3).is_proof(Role::client, proof.data()));
    CHECK_FALSE(session_of("secret", 2, 1).is_proof(Role::client, proof.data()));
}

TEST_CASE("a secret may have any length but none") {
    CHECK(key_from("a").bytes != key_from("b").bytes);
    CHECK(key_from(std::string(100'000, 'a')).bytes != key_from(std::string(100'001, 'a')).bytes);
    CHECK_THROWS_WITH(key_from(""), VERBENA_CONTAINS("secret is empty"));
}

TEST_CASE("records open in order, however the bytes are cut") {
    const Key key = session_of("s").record_key(Role::client);
    Sealer sealer(key);
    std::string bytes;
    for (const auto& message : {std::string("one"), std::string(), std::string(100'000, 'x')})
        bytes += sealed(sealer, message);
    const std::size_t step = GENERATE(1u, 7u, 4096u, 1'000'000u);
    Opener opener(key);
    std::vector<std::string> opened;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        opener.add(std::string_view(bytes).substr(at, step));
        while (auto message = opener.next()) opened.push_back(*message);
    }
    CHECK(opened == std::vector<std::string>{"one", "", std::string(100'000, 'x')});
}

TEST_CASE("what is sealed cannot be read from the bytes") {
    Sealer sealer(session_of("s").record_key(Role::client));
    CHECK(sealed(sealer, "rkey 0x1234").find("rkey") == std::string::npos);
}

TEST_CASE("a record that was altered, repeated, left out or sent back does not open") {
    const Session session = session_of("s");
    Sealer sealer(session.record_key(Role::client));
    const std::string first = sealed(sealer, "one");
    const std::string second = sealed(sealer, "two");
    std::string altered = first;
    altered[altered.size() - 1] = static_cast<char>(altered[altered.size() - 1] ^ 1);
    auto [what, receiver, bytes] =
        GENERATE_COPY(table<std::string, Role, std::string>({{"altered", Role::client, altered},
                                                             {"repeated", Role::client, first + first},
                                                             {"left out", Role::client, second},
                                                             {"sent back", Role::store, first}}));
    INFO(what);
    Opener opener(session.record_key(receiver));
    opener.add(bytes);
    const auto open_all = [&] {
        while (opener.next()) continue;
    };
    CHECK_THROWS_WITH(open_all(), VERBENA_CONTAINS("was altered on its way"));
}

TEST_CASE("a record's length is judged before anything is kept for it") {
    auto [length, limit] = GENERATE(table<std::string, std::size_t>({{std::string("\0\0\0\0", 4), 2048},
                                                                     {std::string("\x0f\0\0\0", 4), 2048},
                                                                     {std::string("\x01\x08\0\0", 4), 2048},
                                                                     {"\xff\xff\xff\xff", max_record_bytes}}));
    Opener opener(Key(), limit);
    opener.add(length);
    CHECK_THROWS_WITH((void)opener.next(), VERBENA_CONTAINS("impossible length"));
}

TEST_CASE("the store's handshake accepts the secret, however the bytes are cut") {
    const std::size_t step = GENERATE(1u, 5u, 100u);
    StoreHandshake handshake(key_from("s"));
    const HelloBytes ours = make_hello(Answer::accepted, random_nonce());
    std::string reply;
    REQUIRE(play(handshake, text(ours), step, reply) == StoreHandshake::Verdict::more);
    REQUIRE(reply.size() == hello_bytes);
    HelloBytes theirs;
    std::copy(reply.begin(), reply.end(), theirs.begin());
    const Session session(key_from("s"), ours, theirs);
    reply.clear();
    CHECK(play(handshake, text(session.proof(Role::client)), step, reply) == StoreHandshake::Verdict::established);
    CHECK(reply == make_verdict(Answer::accepted, session.proof(Role::store)));
    CHECK(handshake.session().record_key(Role::store).bytes == session.record_key(Role::store).bytes);
}

TEST_CASE("the store says nothing to a stranger, the versions to another version, and no proof to a wrong one") {
    StoreHandshake handshake(key_from("s"));
    std::string reply;
    CHECK(play(handshake, "GET / HTTP/1.1\r\n", 100, reply) == StoreHandshake::Verdict::refused);
    CHECK(reply.empty());

    StoreHandshake other(key_from("s"));
    CHECK(play(other, std::string("VRBN\2\0\0\0", 8), 100, reply) == StoreHandshake::Verdict::refused);
    CHECK(reply == text(make_hello(Answer::other_version, {})));

    StoreHandshake wrong(key_from("s"));
    reply.clear();
    CHECK(play(wrong, std::string(text(make_hello(Answer::accepted, {}))) + std::string(32, 'x'), 100, reply) ==
          StoreHandshake::Verdict::refused);
    CHECK(reply.substr(hello_bytes) == make_verdict(Answer::wrong_secret, {}));
}
