"""Reads files of lines: compressed or not, in blocks of whole lines, with any of the usual ends of a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import pyarrow as pa

from table_format.errors import UnsupportedFeature
from table_format.limits import MIB

_BLOCK_BYTES: Final = 4 * MIB
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_COMPRESSED: Final[Mapping[str, Literal["gzip", "bz2", "zstd"]]] = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}
_NOT_READ: Final = frozenset({"deflate", "lz4", "lzo", "lzo_deflate", "snappy", "xz"})


def line_blocks(source: pa.NativeFile, path: str) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines, without a byte order mark. Its name says how it is compressed.

    Raises:
        UnsupportedFeature: it has another compression.
    """
    extension = path.rpartition(".")[2].lower()
    if extension in _NOT_READ:
        feature = f"compression '{extension}' of text files"
        message = f"{path}: {feature} is not supported by this version; it has {', '.join(_COMPRESSED)}"
        raise UnsupportedFeature(feature, message)
    codec = _COMPRESSED.get(extension)
    stream = source if codec is None else pa.CompressedInputStream(source, codec)
    is_first, rest = True, b""
    while data := stream.read(_BLOCK_BYTES):
        lines, end, rest = (rest + data).rpartition(b"\n")
        if end:
            yield _without_mark(lines + end) if is_first else lines + end
            is_first = False
    if rest:
        yield _without_mark(rest) if is_first else rest


def split_lines(block: bytes) -> list[bytes]:
    r"""Return the lines of a block without their ends.

    >>> split_lines(b"a\r\nb\rc\n\nd")
    [b'a', b'b', b'c', b'', b'd']
    """
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = block.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _without_mark(block: bytes) -> bytes:
    return block.removeprefix(_BYTE_ORDER_MARK)
