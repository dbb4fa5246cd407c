"""What fuzz targets begin with: a few sound inputs each, so that they need not find out what a parser looks for first.

Others find their way alone: most take their bytes as changes to something sound.
"""

import json
import struct
from random import Random


def of(name: str) -> list[bytes]:
    made = _SEEDS.get(name)
    return made() if made else []


def _exchanges() -> list[bytes]:
    host, token = b"Host: localhost\r\n", b"Authorization: Bearer sesame\r\n"
    requests = [
        b"GET /metrics HTTP/1.1\r\n" + host + b"\r\n",
        b"GET /healthz?x=1 HTTP/1.0\r\n\r\n",
        b"HEAD /readyz HTTP/1.1\r\nHost: [::1]:7800\r\nConnection: keep-alive\r\n\r\n",
        b"POST /control/start HTTP/1.1\r\n" + host + token + b"Content-Length: 2\r\n\r\n17",
        b"POST /control/stop HTTP/1.1\r\n" + host + b"Origin: http://x\r\n" + token + b"\r\n",
        b"POST /control/stop HTTP/1.1\r\n" + host + token + b"Transfer-Encoding: chunked\r\n\r\n1\r\n7\r\n0\r\n\r\n",
        b"POST /control/start HTTP/1.1\r\n" + host + token + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n1",
    ]
    return [bytes([cut]) + request for request in requests for cut in (0, 100)]


def _config() -> list[bytes]:
    group = {"source_id": 17, "elinks": ["0-3", 7], "disabled": [2], "fragment_bytes": "4KiB", "mode": "build"}
    handler = {"name": "a", "listen": "127.0.0.1:0", "metrics": "9200", "threads": 1, "group": [group]}
    everything = {
        "readout": {"expected_rate": "1MHz", "poll": "50us", "pinning": "build=0-2,serve=3", "mode": "relay"},
        "index": {"events": 65536, "when_full": "evict", "window_events": 1000, "close_after": 0.05, "checksum": True},
        "trigger": {"l1id_offset": 8, "bcid_offset": 14, "slice_ticks": 1000},
        "server": {"allow": ["10.0.0.0/8", "::1/128"], "token": "x", "queued": "1MiB", "lease": "3s", "iovec": True},
        "hook": {"library": "./hook.so", "configuration": "x", "budget": "2us"},
        "handler": [handler, {"card": "b", "dma": 1, "group": [{"source_id": 5, "elinks": 9, "mode": "triggerless"}]}],
    }
    return [json.dumps({"handler": [handler]}).encode(), json.dumps(everything).encode()]


def _fragment() -> list[bytes]:
    """Two packets, as docs/formats/fragment.md has them."""
    payloads = [b"abcdefg", b"hijklmnopqrs"]
    entries, body, at = b"", b"", 64 + 4 * len(payloads)
    for payload in payloads:
        entries += struct.pack("<HH", at // 4, len(payload))
        padded = payload + bytes(-len(payload) % 4)
        body, at = body + padded, at + len(padded)
    head = (0x46475754, 1, 64 + 4 * len(payloads), at, 0, 1 << 32, 7, 17, 3, 3, 0, len(payloads), 0x80, 10, 0)
    whole = struct.pack("<IHHIIQIIQQHHIII", *head) + entries + body
    return [whole, whole + whole]


def _group() -> list[bytes]:
    """Streams that go on together, with a lost packet, a duplicate and a jump in between; and one that lags."""
    faults = bytes([0, 200, 10, 5, 4, 1, 0, 90, 21, 255, 0, 60, 10, 9, 6, 3, 3, 40, 0, 200, 7, 9, 0, 200, 10, 255])
    lags = bytes([0, 100, 10, 3, 3, 63, 3, 63, 19, 63, 10, 200, 35, 63, 10, 3, 0, 90, 9, 0, 25, 0, 10, 9])
    return [bytes([shape]) + steps for shape in (1, 32, 34, 67) for steps in (faults, lags)]


def _lz4() -> list[bytes]:
    """Literals and a match; then the same with lengths that need more than four bits."""
    short = bytes([0x44]) + b"abcd" + struct.pack("<H", 4) + bytes([0x50]) + b"vwxyz"
    long = bytes([0xFF, 5]) + bytes(range(20)) + struct.pack("<H", 20) + bytes([10, 0x50]) + b"vwxyz"
    return [
        bytes([slack]) + struct.pack("<H", size) + block
        for block, size in ((short, 17), (long, 54))
        for slack in (0, 1)
    ]


def _decoder() -> list[bytes]:
    """A block of packets and one of pieces, each as docs/formats/felix.md has it, 32 bits a trailer."""
    whole, first, middle, last = 3, 1, 4, 2
    blocks = []
    for sequence, kinds in enumerate([[whole] * 85, [first, middle, last] * 28 + [whole]]):
        head = struct.pack("<I", 5 | sequence << 11 | 0xC0CE << 16)
        blocks.append(head + b"".join(bytes(range(8)) + struct.pack("<I", kind << 29 | 8) for kind in kinds))
    given = [struct.pack("<H", len(block)) + block for block in blocks]
    return [bytes([2]) + given[0], bytes([2]) + given[0] + given[1], bytes([1]) + given[1]]


def _memory() -> list[bytes]:
    """Some changes of each container: a segment, a place, a length, what comes there."""
    random = Random(1)

    def change() -> bytes:
        size = random.choice([1, 2, 4, 8])
        value = random.choice([0, 1, 0x7F, 0xFF, random.getrandbits(8 * size)]) & ((1 << 8 * size) - 1)
        place = random.randrange(1 << random.randint(6, 16))
        return struct.pack("<BHB", random.randrange(3), place, size - 1) + value.to_bytes(size, "little")

    return [bytes([container]) + change() + change() for container in (0, 1) for _ in range(100)]


def _raw_rows() -> list[bytes]:
    """Rows of each kind of the target, in pieces of several sizes, with garbage, cuts and lengths that lie."""
    sync = struct.pack("<I", 0xA5B6C7D8)
    fixed = [sync + struct.pack("<IH", number, 3 * number) for number in range(5)]
    lists = [sync + struct.pack("<H", items) + bytes(2 * items) for items in (0, 3, 1, 7, 900)]
    whole = [sync + struct.pack("<H", 6 + 2 * items) + bytes(2 * items) for items in (0, 3, 1)]
    streams = [
        (0, b"".join(fixed)),
        (0, b"noise" + fixed[0] + fixed[1][:7] + b"".join(fixed[2:])),
        (1, b"".join(lists)),
        (2, b"".join(whole) + sync + b"\1\0" + b"".join(whole)),
        (3, sync + struct.pack("<H", 5) + b"abcde" + lists[0]),
        (4, b"".join(row[4:] for row in lists)),
        (5, bytes(range(88))),
    ]
    return [bytes([kind, piece]) + stream for kind, stream in streams for piece in (0, 12, 255)]


def _raw_events() -> list[bytes]:
    """Blocks with a start, data of several channels and a stop, whole and cut."""
    start = struct.pack(">4Q", 3 << 60 | 3 << 32 | 4, 256, 3, 0)
    stop = struct.pack(">3Q", 3 << 60 | 2 << 56 | 2 << 32 | 3, 10**9, 1 << 56 | 77)
    blocks = []
    for mask, quartets in ((0, 0), (1, 3), (0b1010, 2), (2**64 - 1, 1)):
        words = mask.bit_count() * quartets
        data = struct.pack(f">{3 + words}Q", 1 << 60 | 5 << 32 | 3 + words, 9, mask, *range(words))
        blocks += [start + data + data + stop, data[:-4], data + b"\0" * 8]
    return blocks


_SEEDS = {
    "config": _config,
    "decoder": _decoder,
    "group": _group,
    "exchanges": _exchanges,
    "fragment": _fragment,
    "lz4": _lz4,
    "memory": _memory,
    "raw_events": _raw_events,
    "raw_rows": _raw_rows,
}
