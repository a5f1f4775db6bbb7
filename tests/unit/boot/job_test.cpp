#include "catch.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <verbena/error.hpp>

#include "boot/job.hpp"

using namespace verbena;
using namespace verbena::boot;

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

Settings settings_with(const Values& values) {
    Settings settings;
    for (const auto& [name, value] : values) settings.set(name, value);
    return settings;
}

Values pair_of_ranks(const std::string& rank) {
    return {{"rank", rank}, {"size", "2"}, {"store", "gpu01:4000"}, {"secret", "s"}};
}

/// A file in the temporary directory, gone with the object.
struct SecretFile {
    explicit SecretFile(const std::string& content, mode_t mode = 0600)
        : path((std::filesystem::temp_directory_path() / ("verbena-secret-" + std::to_string(getpid()))).string()) {
        std::ofstream(path) << content;
        chmod(path.c_str(), mode);
    }
    SecretFile(const SecretFile&) = delete;
    SecretFile& operator=(const SecretFile&) = delete;
    ~SecretFile() { std::filesystem::remove(path); }
    std::string path;
};

Job job_with_file(const std::string& path) {
    return job_from(settings_with({{"rank", "0"}, {"size", "2"}, {"store", "4000"}, {"secret-file", path}}));
}

} // namespace

TEST_CASE("the store's address is read in every form") {
    auto [text, host, port] =
        GENERATE(table<std::string, std::string, std::uint16_t>({{"gpu01:4000", "gpu01", 4000},
                                                                 {"10.0.0.1:1", "10.0.0.1", 1},
                                                                 {"[fe80::1%eth0]:65535", "fe80::1%eth0", 65535},
                                                                 {"4000", "127.0.0.1", 4000}}));
    const StoreAddress address = parse_store_address(text);
    CHECK(address.host == host);
    CHECK(address.port == port);
}

TEST_CASE("what is no address of a store is refused with the forms that are") {
    const std::string text = GENERATE("", "gpu01", "gpu01:", ":4000", "gpu01:0", "gpu01:65536", "gpu01:+1",
                                      "gpu01:4000x", "fe80::1:4000", "[fe80::1]", "[fe80::1]4000", "[]:4000", "0");
    CAPTURE(text);
    try {
        (void)parse_store_address(text);
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK_THAT(error.what(), VERBENA_CONTAINS("store is \"" + text + "\""));
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("HOST:PORT, [IPV6]:PORT, or PORT"));
    }
}

TEST_CASE("without settings a process is a job of its own and needs no store") {
    const Job job = job_from(Settings());
    CHECK(job.rank == 0);
    CHECK(job.size == 1);
    CHECK(job.local_size == 1);
    CHECK_FALSE(job.hosts_store);
}

TEST_CASE("rank 0 hosts the store unless something else does") {
    auto [rank, external, hosts] =
        GENERATE(table<std::string, std::string, bool>({{"0", "no", true}, {"1", "no", false}, {"0", "yes", false}}));
    Values values = pair_of_ranks(rank);
    values.emplace_back("store-external", external);
    const Job job = job_from(settings_with(values));
    CHECK(job.hosts_store == hosts);
    CHECK(job.client_options().host == (hosts ? "127.0.0.1" : "gpu01"));
    CHECK(job.client_options().port == 4000);
    CHECK(job.server_options().port == 4000);
}

TEST_CASE("the host of the store reaches it by the address it is bound to") {
    auto [bind, host] = GENERATE(table<std::string, std::string>(
        {{"", "127.0.0.1"}, {"0.0.0.0", "127.0.0.1"}, {"::", "::1"}, {"10.0.0.1", "10.0.0.1"}}));
    Values values = pair_of_ranks("0");
    values.emplace_back("bind", bind);
    CHECK(job_from(settings_with(values)).client_options().host == host);
    CHECK(job_from(settings_with(values)).server_options().bind == bind);
}

TEST_CASE("what is missing or contradicts itself is named with what to set") {
    auto [values, sentence, advice] = GENERATE(table<Values, std::string, std::string>({
        {{{"rank", "2"}, {"size", "2"}}, "rank 2 is not below size 2", "--size"},
        {{{"rank", "1"}}, "rank 1 is not below size 1", "VERBENA_SIZE"},
        {{{"size", "2"}}, "size is 2, and this process has no rank", "VERBENA_RANK"},
        {{{"local-rank", "2"}, {"local-size", "2"}}, "local-rank 2 is not below local-size 2", "local-size"},
        {{{"rank", "0"}, {"size", "2"}, {"secret", "s"}},
         "a job of 2 ranks needs a store to meet at",
         "VERBENA_STORE=HOST:PORT"},
        {{{"rank", "0"}, {"size", "2"}, {"store", "4000"}},
         "a job of 2 ranks needs a shared secret",
         "head -c 32 /dev/urandom"},
        {{{"rank", "0"}, {"size", "2"}, {"store", "4000"}, {"secret", "s"}, {"secret-file", "/f"}},
         "are both set",
         "keep one"},
    }));
    try {
        (void)job_from(settings_with(values));
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_THAT(error.what(), VERBENA_CONTAINS(sentence));
        CHECK_THAT(error.advice(), VERBENA_CONTAINS(advice));
    }
}

TEST_CASE("a secret file gives its content without the line end") {
    const auto content = GENERATE(as<std::string>(), "s3cret", "s3cret\n", "s3cret\r\n");
    const SecretFile file(content);
    CHECK(job_with_file(file.path).secret == "s3cret");
}

TEST_CASE("a secret file that others can use is refused with the command that mends it") {
    const auto mode = GENERATE(as<mode_t>(), 0640, 0604, 0620, 0610);
    const SecretFile file("s3cret", mode);
    try {
        (void)job_with_file(file.path);
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::refused);
        CHECK_THAT(error.what(), VERBENA_CONTAINS("others may use it"));
        CHECK(error.advice() == "chmod 600 " + file.path);
    }
}

TEST_CASE("a secret file that is empty, too long, missing or none is named") {
    const SecretFile empty("\n");
    CHECK_THROWS_WITH(job_with_file(empty.path), VERBENA_CONTAINS(empty.path + " is empty"));
    const SecretFile large(std::string(5000, 'x'));
    CHECK_THROWS_WITH(job_with_file(large.path), VERBENA_CONTAINS("is it the right file?"));
    CHECK_THROWS_WITH(job_with_file("/no/such/file"), VERBENA_CONTAINS("secret-file /no/such/file: ENOENT"));
    CHECK_THROWS_WITH(job_with_file("/dev/null"), VERBENA_CONTAINS("is not a regular file"));
}
