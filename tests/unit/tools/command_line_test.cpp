#include "catch.hpp"

#include <set>

#include <CLI/CLI.hpp>
#include <verbena/error.hpp>

#include "command.hpp"
#include "file.hpp"
#include "launch.hpp"
#include "memory_kind.hpp"
#include "notice.hpp"
#include "options.hpp"
#include "pair.hpp"

using namespace verbena;
using namespace verbena::tools;

using Words = std::vector<std::string>;

TEST_CASE("every setting of the library is an option under a heading") {
    CLI::App app;
    Options options;
    add_global_options(app, options);
    const Settings settings;
    for (const Setting& setting : settings.all()) {
        const CLI::Option* option = app.get_option_no_throw("--" + setting.name);
        CAPTURE(setting.name);
        REQUIRE(option != nullptr);
        CHECK(option->get_group() == group_of(setting));
        CHECK_THAT(option->get_description(), VERBENA_CONTAINS(setting.description));
        CHECK(group_of(setting) != "Other settings");
    }
}

TEST_CASE("an option is a setting whose origin is the option") {
    CLI::App app;
    Options options;
    add_global_options(app, options);
    app.parse("--send-depth 16 --json", false);
    CHECK(options.json);
    CHECK(options.settings == std::map<std::string, std::string>{{"send-depth", "16"}});
}

TEST_CASE("the program that run starts keeps its options, whatever they are called") {
    CLI::App app;
    Options options;
    add_global_options(app, options);
    auto* run = app.add_subcommand("run", "")->fallthrough();
    static_cast<void>(add_run(*run));
    auto [given, ours, program] = GENERATE(table<Words, Words, Words>({
        {{"run", "-n", "4", "./a", "-n", "7"}, {"run", "-n", "4"}, {"./a", "-n", "7"}},
        {{"run", "-n4", "--", "--json", "x"}, {"run", "-n4"}, {"--json", "x"}},
        {{"--color", "never", "run", "--ranks=3", "verbena", "perf", "--help"},
         {"--color", "never", "run", "--ranks=3"},
         {"verbena", "perf", "--help"}},
        {{"run", "--device", "tcp", "--json", "info"}, {"run", "--device", "tcp", "--json"}, {"info"}},
        {{"run"}, {"run"}, {}},
        {{"perf", "run", "x"}, {"perf", "run", "x"}, {}},
        {{"--json", "info"}, {"--json", "info"}, {}},
    }));
    options.arguments = given;
    split_program(app, "run", options);
    CHECK(options.arguments == ours);
    CHECK(options.program == program);
}

TEST_CASE("the other end's command leaves out what means this machine, and the secret") {
    const Words arguments = {"perf", "--test", "rate",          "--bind", "10.0.0.1", "--device=rxe1", "--secret", "s",
                             "-p",   "7000",   "--advertise=x", "-w",     "4"};
    CHECK(portable_arguments(arguments, {"-p"}) == Words{"perf", "--test", "rate", "-w", "4"});
    CHECK(portable_arguments({"perf", "--secret"}, {}) == Words{"perf"});
}

TEST_CASE("a line for a shell is quoted where it must be") {
    CHECK(shell_line({"a", "b c", "", "it's", "8:16MiB"}) == R"(a 'b c' '' 'it'\''s' 8:16MiB)");
}

TEST_CASE("host, --local and a launcher decide which end this is") {
    Settings alone;
    Settings launched;
    launched.set("rank", "1", Source::launcher);
    CHECK(role_of({}, alone) == Role::listen);
    CHECK(role_of({"host"}, alone) == Role::connect);
    CHECK(role_of({"", default_tcp_port, true}, alone) == Role::launch);
    CHECK(role_of({}, launched) == Role::member);
    CHECK(role_of({"", default_tcp_port, true}, launched) == Role::member);
    CHECK_THROWS_AS(role_of({"host", default_tcp_port, true}, alone), Error);
    CHECK_THROWS_AS(role_of({"host"}, launched), Error);
}

TEST_CASE("a connecting end goes to the host's store, at the port that was named") {
    auto [host, store] = GENERATE(table<std::string, std::string>({
        {"10.0.0.1", "10.0.0.1:7000"},
        {"10.0.0.1:99", "10.0.0.1:99"},
        {"name", "name:7000"},
        {"fd00::2", "[fd00::2]:7000"},
        {"[fd00::2]", "[fd00::2]:7000"},
        {"[fd00::2]:99", "[fd00::2]:99"},
    }));
    Settings settings;
    settings.set("secret", "s");
    const Settings made = connecting(settings, {host, 7000});
    CHECK(made.text("store") == store);
    CHECK(made.text("rank") == "1");
    CHECK(made.text("size") == "2");
}

TEST_CASE("a connecting end without a secret is told to copy the other end's line") {
    try {
        static_cast<void>(connecting(Settings(), {"10.0.0.1"}));
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_THAT(error.advice(), VERBENA_CONTAINS("VERBENA_SECRET"));
    }
}

TEST_CASE("a listening end keeps what the user set and waits long where nothing was") {
    Settings settings = listening(Settings(), {"", 7000}, "10.0.0.1", "made");
    CHECK(settings.text("rank") == "0");
    CHECK(settings.text("store") == "10.0.0.1:7000");
    CHECK(settings.text("secret") == "made");
    CHECK(settings.duration("connect-timeout") > std::chrono::minutes(1));
    Settings set;
    set.set("secret", "own");
    set.set("connect-timeout", "3s");
    set.set("bind", "10.0.0.9");
    settings = listening(set, {"", 7000}, "10.0.0.1", "made");
    CHECK(settings.text("secret") == "own");
    CHECK(settings.duration("connect-timeout") == std::chrono::seconds(3));
    CHECK(settings.text("store") == "10.0.0.9:7000");
}

TEST_CASE("exit statuses tell wrong usage from a lacking environment from a failure") {
    CHECK(exit_status_of(ErrorCode::invalid_argument) == 2);
    CHECK(exit_status_of(ErrorCode::unavailable) == 3);
    CHECK(exit_status_of(ErrorCode::exhausted) == 3);
    CHECK(exit_status_of(ErrorCode::peer_lost) == 1);
    CHECK(exit_status_of(ErrorCode::timed_out) == 1);
}

TEST_CASE("random secrets are 32 hexadecimal digits and differ") {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) {
        const std::string secret = random_secret();
        CHECK(secret.size() == 32);
        CHECK(secret.find_first_not_of("0123456789abcdef") == std::string::npos);
        seen.insert(secret);
    }
    CHECK(seen.size() == 100);
}

TEST_CASE("a file name from another machine stays in this folder") {
    CHECK(checked_file_name("model.bin") == "model.bin");
    for (const char* name : {"", ".", "..", "../x", "/etc/passwd", "a/b", ".bashrc", "a\nb", "a\033[2Jb"}) {
        CHECK_THROWS_AS(checked_file_name(name), Error);
    }
}

TEST_CASE("kinds of memory are known by their names, and managed memory is not called GPUDirect's") {
    CHECK(memory_choice_of("cuda").kind == MemoryKind::device);
    CHECK(memory_choice_of("cuda").gpu == 0);
    CHECK(memory_choice_of("cuda:11").gpu == 11);
    CHECK(memory_choice_of("managed:2").gpu == 2);
    CHECK(memory_choice_of("host").kind == MemoryKind::host);
    for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "host:0", "pinned:1"})
        CHECK_THROWS_AS(memory_choice_of(name), Error);
    CHECK(memory_note(memory_choice_of("cuda:1")) == "cuda:1");
    CHECK_THAT(memory_note({MemoryKind::managed, 0}), VERBENA_CONTAINS("host path"));
}
