#include "api/host_identity.hpp"

#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>

namespace verbena {

std::string host_identity() {
    std::string boot_id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
    struct stat shm {};
    struct stat pid_namespace {};
    // A failed stat leaves zeros: then both processes lack the thing alike, and the provider says so when it is opened.
    (void)::stat("/dev/shm", &shm);
    (void)::stat("/proc/self/ns/pid", &pid_namespace);
    return fmt::format("{}:{}.{}:{}", boot_id, shm.st_dev, shm.st_ino, pid_namespace.st_ino);
}

} // namespace verbena
