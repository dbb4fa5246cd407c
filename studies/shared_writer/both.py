"""both.py WORDS WORDS: two jobs at once, each of these words; what both did together."""

import json
import shlex
import subprocess
import sys
from pathlib import Path


def main() -> None:
    here = Path(__file__).parent
    jobs = []
    for words in sys.argv[1:]:
        script, *rest = shlex.split(words)
        command = [sys.executable, str(here / script), *rest]
        jobs.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    told = [json.loads(job.communicate()[0]) for job in jobs]
    rates = sum(each["events_per_s"] for each in told)
    print(json.dumps({"events_per_s": rates, "cpu_us_per_event": sum(each["cpu_us_per_event"] for each in told) / 2}))


if __name__ == "__main__":
    main()
