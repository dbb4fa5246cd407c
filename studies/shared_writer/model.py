"""Compares the paper's table with a queueing model, and computes what two cores can show: `model.py` prints both."""

from itertools import pairwise

# Table 1 of the paper: workers, events a second (legacy, new), memory a core in GB (legacy, new).
PAPER = {4: (4.9, 6.0, 1.94, 2.10), 8: (6.7, 11.4, 1.67, 1.88), 16: (6.7, 21.2, 1.45, 1.81)}
EVENTS = 25_000
RATIOS = (0.25, 1.0, 3.5)


def rate(workers: int, service: float, think: float) -> float:
    """Events a second of a closed network with one queue: exact mean value analysis.

    A worker processes for `think` seconds an event, and then waits for the one server, which takes `service`.
    """
    queue = found = 0.0
    for count in range(1, workers + 1):
        response = service * (1 + queue)
        found = count / (think + response)
        queue = found * response
    return found


def think_for(workers: int, service: float, wanted: float) -> float:
    """Returns how long a worker processes an event if so many events per second come out."""
    low, high = 0.0, workers / wanted
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(workers, service, middle) > wanted else (low, middle)
    return (low + high) / 2


def legacy() -> tuple[float, float, dict[int, float]]:
    """Service and processing in seconds, from the saturation and from 4 workers; and what they predict."""
    service = 1 / PAPER[16][0]
    think = think_for(4, service, PAPER[4][0])
    return service, think, {workers: rate(workers, service, think) for workers in PAPER}


def with_start(start: float, each: float) -> dict[int, float]:
    """Predicts the new mode if only its start-up does not scale; an event costs `each` seconds per worker."""
    return {workers: EVENTS / (start + EVENTS * each / workers) for workers in PAPER}


def start_that_fits() -> tuple[float, float]:
    """Solves two equations, from 4 and 16 workers, for the two unknowns."""
    (a, seconds_a), (b, seconds_b) = ((workers, EVENTS / PAPER[workers][1]) for workers in (4, 16))
    each = (seconds_a - seconds_b) / (EVENTS / a - EVENTS / b)
    return seconds_a - EVENTS * each / a, each


def contention_that_fits() -> tuple[float, float]:
    """The queue instead: service and processing from the same two."""
    low, high = 0.0, 1 / PAPER[16][1]
    for _ in range(100):
        middle = (low + high) / 2
        found = rate(16, middle, think_for(4, middle, PAPER[4][1]))
        low, high = (middle, high) if found > PAPER[16][1] else (low, middle)
    return low, think_for(4, low, PAPER[4][1])


def on_two_cores(ratio: float, transfer: float = 0.0) -> float:
    """own ÷ legacy of two workers, by p / c: all compute, or one process encodes. `transfer`: in units of c."""
    return max(2 / (ratio + 1), 1 + transfer / (ratio + 1))


def main() -> None:
    service, think, predicted = legacy()
    print(f"legacy: S = {service * 1e3:.0f} ms, Z = {think * 1e3:.0f} ms an event, of 4 workers and the saturation")
    for workers, (measured, *_) in PAPER.items():
        print(f"  {workers:>2} workers: {predicted[workers]:.2f} events/s (the paper: {measured})")
    start, each = start_that_fits()
    late, processing = contention_that_fits()
    queue = {workers: rate(workers, late, processing) for workers in PAPER}
    print(f"new, by a start of {start:.0f} s and {each * 1e3:.0f} ms an event; or by a server of {late * 1e3:.1f} ms")
    for workers, row in PAPER.items():
        print(
            f"  {workers:>2} workers: {with_start(start, each)[workers]:.2f} or {queue[workers]:.2f} (paper: {row[1]})"
        )
    print("own ÷ legacy on two cores, by p / c:", {ratio: round(on_two_cores(ratio), 2) for ratio in RATIOS})
    growth = [round(b[1] / a[1], 2) for (_, a), (_, b) in pairwise(PAPER.items())]
    print("the paper's new mode, from each number of workers to its double:", growth)


if __name__ == "__main__":
    main()
