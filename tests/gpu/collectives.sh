#!/bin/sh
# Every collective over memory of a GPU, every element checked, in several processes of one host: by mapping the peer's
# memory, and by way of host memory.
# usage: collectives.sh verbena
verbena=$1
log=$(mktemp) && trap 'rm -f "$log"' EXIT
"$verbena" coll all_reduce -n 1 --memory cuda -s 64:64 --iterations 1 >"$log" 2>&1 || {
    grep -q 'needs the CUDA plug-in' "$log" && { echo "skipped: $(grep -m1 'CUDA plug-in' "$log")"; exit 77; }
    cat "$log"
    exit 1
}
for ipc in auto off; do
    for ranks in 2 4; do
        for operation in all_reduce broadcast reduce reduce_scatter all_gather gather scatter all_to_all; do
            "$verbena" coll $operation -n $ranks --memory cuda --gpu-ipc $ipc -s 64:4MiB --factor 256 --iterations 5 \
                --op avg --type bf16 >"$log" 2>&1 || { echo "$operation, $ranks ranks, gpu-ipc $ipc"; cat "$log"; exit 1; }
        done
    done
done
