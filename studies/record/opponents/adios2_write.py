"""adios2_write.py PATH PULSES BYTES: one process writes waveforms with ADIOS2 (BP5), in steps of one chunk, until they
are durable. It does not compress, since the wheel has no Blosc."""

import json
import os
import shutil
import sys
import time
from pathlib import Path

import adios2
import numpy as np

SAMPLES = 10_496
ROWS_PER_CHUNK = 48  # the chunks that Thalweg writes


def main(path: str, pulses_path: str, size: str) -> None:
    pulses = np.fromfile(pulses_path, dtype=np.uint16).reshape(-1, ROWS_PER_CHUNK, SAMPLES)
    chunks = int(size) // pulses[0].nbytes
    folder = f"{path}.bp"
    begin, cpu_begin = time.monotonic(), time.process_time()
    writing = adios2.Adios().declare_io("write")
    writing.set_engine("BP5")
    shape = [ROWS_PER_CHUNK, SAMPLES]
    variable = writing.define_variable("waveform", pulses[0], shape, [0, 0], shape, True)
    with adios2.Stream(writing, folder, "w") as stream:
        for index in range(chunks):
            stream.begin_step()
            stream.write(variable, pulses[index % len(pulses)])
            stream.end_step()
    for each in Path(folder).rglob("*"):
        descriptor = os.open(each, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    seconds, cpu_s = time.monotonic() - begin, time.process_time() - cpu_begin
    with adios2.FileReader(folder) as file:  # the clock has stopped: is the last chunk right?
        last = file.read("waveform", [0, 0], shape, step_selection=[chunks - 1, 1])
        assert np.array_equal(np.asarray(last).reshape(shape), pulses[(chunks - 1) % len(pulses)])
    shutil.rmtree(folder)
    size_bytes = chunks * pulses[0].nbytes
    rates = {"GB_per_s": size_bytes / seconds / 1e9, "cpu_s_per_GB": cpu_s / size_bytes * 1e9}
    print(json.dumps({"seconds": seconds, "raw_bytes": size_bytes, **rates}))


if __name__ == "__main__":
    main(*sys.argv[1:])
