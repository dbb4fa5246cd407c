"""Measures one point in namespaces: reads it as JSON from its input, and prints what it found as JSON.

To be run as a module, inside `unshare --user --map-root-user --net --pid --fork --kill-child`.
"""

import json
import signal
import sys

from readout.incast.network import NetworkError
from readout.scale import incast
from readout.scale.farm import FarmError, Point, measure
from readout.scale.namespaces import two_hosts

WHOLE_S = 60  # after so long something is wrong, and everything ends


def main() -> int:
    signal.alarm(WHOLE_S)  # this process is the first of its namespace: all others end with it
    asked = json.load(sys.stdin)
    point, seconds = Point(**asked["point"]), float(asked["seconds"])
    try:
        if asked["link"]:
            found = incast.measure_here(point, seconds, incast.Link(**asked["link"]))
        else:
            with two_hosts() as place:
                found = measure(point, seconds, place)
    except (NetworkError, FarmError) as error:
        found = {"missing": str(error)}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
