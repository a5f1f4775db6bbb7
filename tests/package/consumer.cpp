#include <verbena/verbena.hpp>

#include <cstdio>

int main() {
    verbena::Runtime runtime; // a job of one
    float value = 21;
    const verbena::Status status = runtime.world().all_reduce(&value, &value, 1).wait();
    std::printf("verbena %s: %.0f, %s\n", VERBENA_VERSION, value, describe(status).c_str());
    return status.ok() && value == 21 ? 0 : 1;
}
