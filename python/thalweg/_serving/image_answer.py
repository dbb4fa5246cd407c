"""Answers with bytes of an image: all, one range or several (RFC 9110, sections 13 and 14)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from aiohttp import web

from thalweg import _core
from thalweg._base.errors import DataError, Error
from thalweg._serving.ranges import ByteRange, NotSatisfiableError, ranges_of

_CHUNK_BYTES = 256 << 10  # what a client that reads slowly keeps in memory, about
_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class Part:
    head: bytes
    range: ByteRange


@dataclass(frozen=True)
class Body:
    parts: Sequence[Part]
    tail: bytes = b""

    @property
    def size(self) -> int:
        return sum(len(part.head) + part.range.size for part in self.parts) + len(self.tail)


async def image_answer(
    request: web.Request, image: _core.FileImage, tag: str, readers: Executor, more_headers: Mapping[str, str]
) -> web.StreamResponse:
    """`tag`: names the image, whose bytes never change. `readers`: threads that read it."""
    etag, size = f'"{tag}"', image.size
    headers = {"ETag": etag, "Accept-Ranges": "bytes", "Cache-Control": "private, max-age=86400, immutable"}
    headers.update(more_headers)
    if _names(request.headers.get("If-None-Match"), etag):
        return web.Response(status=304, headers=headers)
    try:
        ranges = ranges_of(request.headers.get("Range"), size) if _ranges_count(request, etag) else None
    except NotSatisfiableError as error:
        headers["Content-Range"] = f"bytes */{size}"
        return web.Response(status=416, headers=headers, text=f"{error}\n")
    body = _body(ranges, size, headers)
    answer = web.StreamResponse(status=200 if ranges is None else 206, headers=headers)
    answer.content_length = body.size
    if request.method == "HEAD":
        await answer.prepare(request)
        return answer
    pieces = _pieces(body, image, readers)
    try:
        first = await anext(pieces, b"")  # before the status is sent
    except Error as error:
        status = 410 if isinstance(error, DataError) else 500
        return web.Response(status=status, text=f"{error}\n")
    await answer.prepare(request)
    try:
        await answer.write(first)
        async for piece in pieces:
            await answer.write(piece)
    except Exception as error:
        if request.transport:
            request.transport.abort()  # so that the client sees that bytes are missing
        if not isinstance(error, (Error, ConnectionError)):
            raise
    return answer


def _ranges_count(request: web.Request, etag: str) -> bool:
    """Returns whether a range is meant of this image: If-Range may ask for all of another one."""
    return request.method == "GET" and str(request.headers.get("If-Range", etag)) == etag


def _names(tags: str | None, etag: str) -> bool:
    found = [tag.strip().removeprefix("W/") for tag in (tags or "").split(",")]
    return etag in found or found == ["*"]


def _body(ranges: list[ByteRange] | None, size: int, headers: dict[str, str]) -> Body:
    """Returns what is sent, and adds headers about it."""
    headers["Content-Type"] = _TYPE
    if ranges is None:
        return Body([Part(b"", ByteRange(0, size))])
    if len(ranges) == 1:
        headers["Content-Range"] = ranges[0].of(size)
        return Body([Part(b"", ranges[0])])
    boundary = secrets.token_hex(16)
    headers["Content-Type"] = f"multipart/byteranges; boundary={boundary}"
    lines = f"\r\n--{boundary}\r\nContent-Type: {_TYPE}\r\nContent-Range: "
    return Body(
        [Part(f"{lines}{each.of(size)}\r\n\r\n".encode(), each) for each in ranges], f"\r\n--{boundary}--\r\n".encode()
    )


async def _pieces(body: Body, image: _core.FileImage, readers: Executor) -> AsyncIterator[bytes]:
    """Yields the bytes of the body, many at once. Reading may wait for a disk, so threads do it."""
    loop = asyncio.get_running_loop()
    gathered = bytearray()
    for part in body.parts:
        gathered += part.head
        for first in range(part.range.first, part.range.end, _CHUNK_BYTES):
            size = min(_CHUNK_BYTES, part.range.end - first)
            gathered += await loop.run_in_executor(readers, _read, image, first, size)
            if len(gathered) >= _CHUNK_BYTES:
                yield bytes(gathered)
                gathered.clear()
    yield bytes(gathered + body.tail)


def _read(image: _core.FileImage, first: int, size: int) -> bytes:
    bytes_ = bytearray(size)
    count = image.read_into(first, bytes_)
    assert count == size, "a range ends within its image"
    return bytes(bytes_)
