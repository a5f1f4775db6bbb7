"""torch.add and a device-to-device copy beside kernel_speed: the same sizes, the same way of timing, as CSV."""
import statistics

import torch


def microseconds(repeat, work):
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    samples = []
    for _ in range(15):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeat):
            work()
        end.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(end) * 1e3 / repeat)
    return statistics.median(samples)


MIB = 1 << 20
print("what,type,inputs,bytes_each,us,TB_per_s")
for size in (1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB):
    repeat = max(2, 512 * MIB // size)
    for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.float16, "f16")):
        count = size // torch.empty(0, dtype=dtype).element_size()
        a, b = (torch.randn(count, device="cuda").to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        time = microseconds(repeat, lambda: torch.add(a, b, out=out))
        print(f"torch.add,{name},2,{size},{time:.2f},{3 * size / time / 1e6:.3f}")
        time = microseconds(repeat, lambda: out.copy_(a))
        print(f"torch.copy_,{name},1,{size},{time:.2f},{2 * size / time / 1e6:.3f}")
