"""Reads the containers of file indexes, completely or only the parts that a lookup needs, and verifies them.

If the name of a file contains a hash of the content, the hash is verified before the content is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from xxhash import xxh3_64_intdigest

from table_format.codecs.content_name import check_content, check_parts, stated_parts_hash
from table_format.codecs.file_index import (
    PREFIX_BYTES,
    HeadLayout,
    IndexPlace,
    IndexPlaces,
    check_places,
    decode_head,
    head_length,
    look_up_parts,
    read_head,
)
from table_format.errors import BadEncoding, LimitExceeded, MissingFile
from table_format.io.file_io import FileIO
from table_format.io.local import LocalFileIO
from table_format.io.regular_files import opened_file, read_file, refusing_special_files
from table_format.kernels.file_index.payload import FIRST_READ, Payload
from table_format.limits import MAX_FILE_INDEX_BYTES
from table_format.model.arrow_calls import read_at


@dataclass(frozen=True, slots=True)
class FirstReads:
    """How many bytes are read first where the length of a head is unknown: of a container, and of an index in it.

    They include most heads, and small indexes completely.
    """

    container: int = 4096
    index: int = FIRST_READ


FIRST_READS: Final = FirstReads()

Read: TypeAlias = Callable[[int, int], bytes]
"""Returns bytes of a container, given their start and number."""


@dataclass(frozen=True, slots=True)
class Container:
    """The positions of the indexes of a file, and access to their bytes."""

    places: IndexPlaces
    read: Read
    size: int
    path: str
    first_reads: FirstReads = FIRST_READS

    def payload(self, place: IndexPlace) -> Payload:
        """Return the bytes of one index.

        Raises:
            LimitExceeded: it is longer than any valid index.
        """
        if place.length > MAX_FILE_INDEX_BYTES:
            raise LimitExceeded(self.path, f"an index of {place.length} bytes is longer than {MAX_FILE_INDEX_BYTES}")
        start = place.start
        return Payload(
            place.length, lambda at, length: self.read(start + at, length), self.path, self.first_reads.index
        )


def container_of(data: bytes | None, path: str, first_reads: FirstReads = FIRST_READS) -> Container:
    """Return a container from its bytes.

    Raises:
        CorruptionError: the head of the container is damaged.
    """
    held = data or b""
    return _decoded(lambda start, length: held[start : start + length], len(held), path, first_reads)


def checked_container(io: FileIO, path: str, *, for_look_ups: bool = False) -> Container:
    """Return the container in a file whose name contains a hash of its content. The file is closed afterwards.

    With ``for_look_ups``, only the head and the bloom filters are read now if the name has a hash of them and the file
    is local. The rest is read and checked when it is needed.

    Raises:
        CorruptionError: the file is missing, or its content does not match its name.
    """
    if for_look_ups and isinstance(io, LocalFileIO):
        stated = stated_parts_hash(path.rpartition("/")[2])
        if stated is not None:
            return _for_look_ups(io, path, stated)
    return container_of(_whole(io, path), path)


@contextmanager
def unchecked_container(io: FileIO, path: str, first_reads: FirstReads = FIRST_READS) -> Iterator[Container]:
    """Open the container in a file whose name contains no hash. The file stays open in the body of ``with``.

    Raises:
        CorruptionError: the file is missing, or its head is damaged.
    """
    with opened_file(io, path) as source:
        yield _decoded(lambda start, length: read_at(source, length, start), source.size(), path, first_reads)


def _for_look_ups(io: LocalFileIO, path: str, stated: int) -> Container:
    def parts_of(size: int, read: Read) -> Container | None:
        opened = _decoded(read, size, path)
        length = head_length(opened.read(0, PREFIX_BYTES), path=path)
        if length is None or size > MAX_FILE_INDEX_BYTES:
            return None
        places = look_up_parts(opened.places, head_length=length)
        parts = {start: opened.read(start, length) for start, length in places}
        check_parts(parts.values(), stated=stated, path=path)
        return Container(opened.places, _Parts(io, path, parts).read, size, path)

    try:
        with refusing_special_files(path):
            found = io.read_parts(path, parts_of)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    # The version is unknown, or the head is damaged.
    return container_of(_whole(io, path), path) if found is None else found


class _Parts:
    """The parts of a file that were read and checked, by their start. Other parts require the whole file."""

    def __init__(self, io: FileIO, path: str, parts: dict[int, bytes]) -> None:
        self._io = io
        self._path = path
        self._parts = parts

    def read(self, start: int, length: int) -> bytes:
        part = self._parts.get(start)
        if part is not None and length <= len(part):
            return part if length == len(part) else part[:length]
        return self._all[start : start + length]

    @cached_property
    def _all(self) -> bytes:
        return _whole(self._io, self._path)


class CheckedFilters(NamedTuple):
    """The bloom filters of an index file of ``size`` bytes that was verified with the hash in its name.

    ``numbers`` are those of the head, ``hashes`` those of the filters, in the order of ``layout.filters``.
    """

    layout: HeadLayout
    size: int
    numbers: tuple[int, ...]
    hashes: tuple[int, ...]

    @property
    def memory_bytes(self) -> int:
        """The approximate size in memory, in bytes."""
        return 256 + 40 * (len(self.numbers) + len(self.hashes))


def checked_filters(io: LocalFileIO, path: str) -> tuple[CheckedFilters, list[bytes]] | None:
    """Return the bloom filters of a file whose name contains a hash; ``None`` if the version of its head is unknown.

    If the name has a hash of the filters, only the head and the filters are read.

    Raises:
        CorruptionError: the content of the file does not match its name.
        OSError: the file does not exist, or cannot be read.
    """
    stated = stated_parts_hash(path.rpartition("/")[2])
    if stated is None:
        data = _whole(io, path)
        return _filters(len(data), lambda start, length: data[start : start + length], path, None)
    return io.read_parts(path, lambda size, read: _filters(size, read, path, stated))


def _filters(size: int, read: Read, path: str, stated: int | None) -> tuple[CheckedFilters, list[bytes]] | None:
    """Return the filters. ``stated`` is the hash of the parts to verify, unless the whole file was verified before."""
    first = read(0, FIRST_READS.container)
    length = head_length(first, path=path)
    if length is None or size > MAX_FILE_INDEX_BYTES:
        return None
    head = first[:length] if length <= len(first) else read(0, length)
    layout, numbers = read_head(head, path=path)
    if length + sum(numbers[1::2]) != size:
        raise BadEncoding(path, f"the file index has {size} bytes, but its head states another size")
    starts = [numbers[2 * number] for number in layout.filters]
    lengths = [numbers[2 * number + 1] for number in layout.filters]
    if any(start >= 0 and not length for start, length in zip(starts, lengths, strict=True)):
        raise BadEncoding(path, "a bloom filter of the file index is empty")
    filters = [read(start, length) if length else b"" for start, length in zip(starts, lengths, strict=True)]
    if stated is not None:
        in_order = [part for _, part in sorted(zip(starts, filters, strict=True)) if part]
        check_parts((head, *in_order), stated=stated, path=path)
    return CheckedFilters(layout, size, numbers, tuple(map(xxh3_64_intdigest, filters))), filters


def _whole(io: FileIO, path: str) -> bytes:
    """Read the whole file and verify it with the hash in its name."""
    try:
        data = read_file(io, path)
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    if len(data) > MAX_FILE_INDEX_BYTES:
        raise LimitExceeded(path, f"a file index of {len(data)} bytes is longer than {MAX_FILE_INDEX_BYTES}")
    check_content(data, path=path)
    return data


def _decoded(read: Read, size: int, path: str, first_reads: FirstReads = FIRST_READS) -> Container:
    first = read(0, min(size, first_reads.container))

    def known(start: int, length: int) -> bytes:
        return first[start : start + length] if start + length <= len(first) else read(start, length)

    length = head_length(first, path=path)
    if length is None:
        return Container({}, known, size, path, first_reads)
    if length > size:
        raise BadEncoding(
            path, f"the recorded length of the head of the file index is {length} bytes, but the whole index has {size}"
        )
    places = decode_head(known(0, length), path=path)
    check_places(places, head_length=length, size=size, path=path)
    return Container(places, known, size, path, first_reads)
