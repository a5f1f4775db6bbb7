#include "catch.hpp"

#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>
#include <verbena/device.hpp>

#include "document_text.hpp"
#include "inventory_json.hpp"
#include "output.hpp"

using namespace verbena;
using namespace verbena::tools;

namespace {

/// What `write` prints through an Output.
template <class Write>
std::string printed(bool is_json, const Write& write) {
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* stream = open_memstream(&text, &length);
    {
        Output output("perf", is_json, Color::never, stream);
        write(output);
    }
    std::fclose(stream);
    const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
    return {text, length};
}

Record row(std::uint64_t bytes, double time) {
    return {"result", {whole("size_bytes", "bytes", bytes), real("median_us", "median us", time, 2)}};
}

} // namespace

TEST_CASE("a row in JSON is one object a line, with schema, keys in order and values unrounded") {
    const std::string text = printed(true, [](Output& output) { output.row(row(8, 1.23456)); });
    CHECK(text == R"({"schema":"verbena.perf.1","record":"result","size_bytes":8,"median_us":1.23456})"
                  "\n");
}

TEST_CASE("rows in text stand below headings, which come again only when the columns change") {
    const std::string text = printed(false, [](Output& output) {
        output.row(row(8, 1.23456));
        output.row(row(16777216, 2));
        Record other = row(8, 3);
        other.fields.push_back(whole("window", "window", 64));
        output.row(other);
    });
    CHECK(text == "   bytes  median us\n"
                  "       8       1.23\n"
                  "16777216       2.00\n"
                  "\n"
                  "   bytes  median us    window\n"
                  "       8       3.00        64\n");
}

TEST_CASE("a line takes every value from the record that JSON prints") {
    CHECK(sentence("{size_bytes} B in {median_us} us, {size_bytes} again, {unknown}", row(8, 1.5)) ==
          "8 B in 1.50 us, 8 again, {unknown}");
}

TEST_CASE("a value that looks like a mark is not replaced again") {
    const Record record{"x", {word("a", "a", "{a}{a}")}};
    CHECK(sentence("<{a}>", record) == "<{a}{a}>");
}

TEST_CASE("a document shows every scalar that it holds, in text as in JSON") {
    const Json document = {{"version", "1"},
                           {"choice", {{"device", "tcp"}, {"empty", ""}, {"forced", false}}},
                           {"devices", {{{"name", "rxe1"}, {"ports", {{{"number", 1}, {"state", "ACTIVE"}}}}}}},
                           {"none", Json::array()},
                           {"settings", {{{"name", "mtu"}, {"value", "4096"}, {"origin", ""}}}}};
    CHECK(document_text(document) == "version: 1\n"
                                     "choice:\n"
                                     "  device: tcp\n"
                                     "  forced: no\n"
                                     "devices:\n"
                                     "  - name: rxe1\n"
                                     "    ports:\n"
                                     "      number  state\n"
                                     "      1       ACTIVE\n"
                                     "settings:\n"
                                     "  name  value\n"
                                     "  mtu   4096");
    const std::string json = printed(true, [&](Output& output) { output.document(document); });
    CHECK(Json::parse(json).at("schema") == "verbena.perf.1");
    CHECK(Json::parse(json).at("devices").at(0).at("ports").at(0).at("state") == "ACTIVE");
}

TEST_CASE("a secret is never printed") {
    Settings settings;
    settings.set("secret", "hunter2");
    const std::string text = to_json(settings).dump();
    CHECK_THAT(text, !VERBENA_CONTAINS("hunter2"));
    CHECK_THAT(text, VERBENA_CONTAINS("(hidden)"));
}

TEST_CASE("an inventory lists what is there and leaves out what a device does not have") {
    Inventory inventory;
    inventory.backends.push_back({"verbs", false, "no /dev/infiniband"});
    DeviceInfo device;
    device.name = "tcp";
    device.backend = "ofi";
    device.ports.push_back({});
    inventory.devices.push_back(device);
    const Json json = to_json(inventory);
    CHECK(json.at("backends").at(0).at("usable") == false);
    CHECK(json.at("devices").at(0).at("name") == "tcp");
    CHECK_FALSE(json.at("devices").at(0).contains("firmware"));
    CHECK_FALSE(json.at("devices").at(0).at("ports").at(0).contains("rate_gbps"));
    CHECK(json.at("gpus").is_array());
}
