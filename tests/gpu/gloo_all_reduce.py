"""All-reduce of CUDA tensors by torch.distributed's Gloo, for standing beside `verbena coll`.

usage: gloo_all_reduce.py RANKS BYTES
"""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, ranks, size):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517")
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    tensor = torch.ones(size // 4, device="cuda")
    for _ in range(2):
        dist.all_reduce(tensor)
    torch.cuda.synchronize()
    dist.barrier()
    start = time.perf_counter()
    calls = 5
    for _ in range(calls):
        dist.all_reduce(tensor)
    torch.cuda.synchronize()
    if rank == 0:
        seconds = (time.perf_counter() - start) / calls
        print(f"gloo all_reduce of CUDA tensors: {ranks} ranks, {size} bytes: {seconds * 1e6:.0f} us, "
              f"algbw {size / seconds / 1e9:.2f} GB/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(int(sys.argv[1]), int(sys.argv[2])), nprocs=int(sys.argv[1]))
