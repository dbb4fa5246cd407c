"""tensorstore_write.py PATH PULSES BYTES THREADS: TensorStore writes waveforms as a sharded Zarr 3 array, until they
are durable: its default syncs each file."""

import json
import resource
import shutil
import sys
import time

import numpy as np
import tensorstore

SAMPLES = 10_496
ROWS_PER_CHUNK = 48  # the chunks that Thalweg writes
CHUNKS_PER_SHARD = 16  # 16 MB: each shard is one file


def main(path: str, pulses_path: str, size: str, thread_count: str) -> None:
    pulses = np.fromfile(pulses_path, dtype=np.uint16).reshape(-1, SAMPLES)
    rows_per_shard = ROWS_PER_CHUNK * CHUNKS_PER_SHARD
    shards = int(size) // (rows_per_shard * SAMPLES * 2)
    # The pulses again and again, so that each shard is one piece of memory.
    source = np.concatenate([pulses] * (2 * rows_per_shard // len(pulses) + 2))
    begin, cpu_begin = time.monotonic(), cpu()
    array = tensorstore.open(
        {
            "driver": "zarr3",
            "kvstore": {"driver": "file", "path": f"{path}.zarr/"},
            "metadata": {
                "shape": [shards * rows_per_shard, SAMPLES],
                "data_type": "uint16",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [rows_per_shard, SAMPLES]}},
                "codecs": [
                    {
                        "name": "sharding_indexed",
                        "configuration": {
                            "chunk_shape": [ROWS_PER_CHUNK, SAMPLES],
                            "codecs": [
                                {"name": "bytes", "configuration": {"endian": "little"}},
                                {
                                    "name": "blosc",
                                    "configuration": {
                                        "cname": "lz4",
                                        "clevel": 1,
                                        "shuffle": "bitshuffle",
                                        "typesize": 2,
                                    },
                                },
                            ],
                        },
                    }
                ],
            },
            "create": True,
            "delete_existing": True,
            "context": {
                "data_copy_concurrency": {"limit": int(thread_count)},
                "file_io_concurrency": {"limit": int(thread_count)},
            },
        }
    ).result()
    waiting = []
    for shard in range(shards):
        first = shard * rows_per_shard
        at = first % len(pulses)
        waiting.append(array[first : first + rows_per_shard].write(source[at : at + rows_per_shard]).commit)
        if len(waiting) > 2 * int(thread_count):  # memory stays bounded
            waiting.pop(0).result()
    for each in waiting:
        each.result()
    seconds, cpu_s = time.monotonic() - begin, cpu() - cpu_begin
    first = (shards - 1) * rows_per_shard
    at = first % len(pulses)
    assert np.array_equal(array[first : first + rows_per_shard].read().result(), source[at : at + rows_per_shard])
    shutil.rmtree(f"{path}.zarr")
    size_bytes = shards * rows_per_shard * SAMPLES * 2
    rates = {"GB_per_s": size_bytes / seconds / 1e9, "cpu_s_per_GB": cpu_s / size_bytes * 1e9}
    print(json.dumps({"seconds": seconds, "raw_bytes": size_bytes, **rates}))


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:])
