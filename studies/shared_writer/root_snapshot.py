"""root_snapshot.py INPUT OUTPUT THREADS: in ROOT, all columns of an RNTuple, read and written again by Snapshot."""

import json
import os
import resource
import sys
import time

import ROOT


def cpu() -> float:
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def main() -> None:
    source, target, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if threads > 1:
        ROOT.EnableImplicitMT(threads)
    options = ROOT.RDF.RSnapshotOptions()
    options.fOutputFormat = ROOT.RDF.ESnapshotOutputFormat.kRNTuple
    options.fCompressionAlgorithm = ROOT.RCompressionSetting.EAlgorithm.kZSTD
    options.fCompressionLevel = 5
    options.fOverwriteIfExists = True
    before, begin = cpu(), time.monotonic()
    frame = ROOT.RDataFrame("Events", source)
    frame.Snapshot("Events", target, [str(name) for name in frame.GetColumnNames() if "." not in str(name)], options)
    with open(target, "rb+") as file:
        os.fsync(file.fileno())
    use = resource.getrusage(resource.RUSAGE_SELF)
    measured = {"seconds": time.monotonic() - begin, "cpu_s": cpu() - before, "rss_MiB": use.ru_maxrss / 1024}
    print(json.dumps(measured | {"bytes": os.path.getsize(target)}))


if __name__ == "__main__":
    main()
