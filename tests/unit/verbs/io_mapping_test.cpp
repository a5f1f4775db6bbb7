#include "catch.hpp"

#include <fstream>
#include <sstream>

#include "verbs/io_mapping.hpp"

using namespace verbena::verbs;

namespace {

const char* const smaps = "55d0c0000000-55d0c0001000 r-xp 00000000 08:01 131 /usr/bin/program name\n"
                          "Size:                  4 kB\n"
                          "VmFlags: rd ex mr mw me sd\n"
                          "7f0000000000-7f0000010000 rw-s 00000000 00:06 1177 /dev/gdrdrv\n"
                          "Size:                 64 kB\n"
                          "Pss:                   0 kB\n"
                          "VmFlags: rd wr sh mr mw me ms pf io de dd sd\n"
                          "7f0000020000-7f0000030000 rw-p 00000000 00:00 0\n"
                          "VmFlags: rd wr mr mw me ac sd\n"
                          "7f0000040000-7f0000050000 rw-s 00000000 00:06 9\n"
                          "VmFlags: rd wr sh pf\n";

std::optional<std::string> at(std::uintptr_t address) {
    std::istringstream text(smaps);
    return io_mapping(text, address);
}

} // namespace

TEST_CASE("a mapping of a device's memory is told from pages by its flags (P41)") {
    CHECK(at(0x7f0000000000) == "/dev/gdrdrv");
    CHECK(at(0x7f000000ffff) == "/dev/gdrdrv");
    CHECK_FALSE(at(0x7f0000010000).has_value()); // behind its end
    CHECK_FALSE(at(0x7f0000020008).has_value());
    CHECK_FALSE(at(0x55d0c0000000).has_value());
    CHECK_FALSE(at(0x1000).has_value());
    CHECK(at(0x7f0000040000) == "a device");
}

TEST_CASE("this process's own memory is no device's") {
    std::ifstream own("/proc/self/smaps");
    const int on_stack = 0;
    CHECK_FALSE(io_mapping(own, reinterpret_cast<std::uintptr_t>(&on_stack)).has_value());
}
