/// Stands in for libcuda.so.1: cuInit answers what the build was told, and names CUDA_ERROR_NO_DEVICE as the driver
/// does.
extern "C" int cuInit(unsigned) { return FAKE_CUINIT; }

extern "C" int cuGetErrorName(int result, const char** name) {
    if (result != 100) return 1;
    *name = "CUDA_ERROR_NO_DEVICE";
    return 0;
}
