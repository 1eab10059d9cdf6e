"""Chunks of ORC streams are decompressed to their length, whatever writer compressed them."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import cramjam
import pytest
import zstandard

from table_format.formats.orc_runs import LZ4, SNAPPY, ZLIB, ZSTD, plain_bytes

BLOCK = 1024
COMPRESSIONS: dict[int, Callable[[bytes], bytes]] = {
    ZLIB: lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS),
    SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
    LZ4: lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False)),
    ZSTD: lambda data: zstandard.ZstdCompressor().compress(data),
}


def chunk(data: bytes, *, is_original: bool = False) -> bytes:
    return (len(data) << 1 | is_original).to_bytes(3, "little") + data


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_chunks_shorter_than_a_block_stay_as_long_as_they_are(compression: int) -> None:
    compressed = COMPRESSIONS[compression]
    for size in (1, 2, 17, 18, 300, BLOCK - 1, BLOCK):
        for part in (b"a" * size, bytes(i * 7919 % 251 for i in range(size)), b"abcde" * (size // 5)):
            stored = chunk(compressed(part)) + chunk(b"xy", is_original=True) + chunk(compressed(part))
            assert plain_bytes(stored, compression, BLOCK) == part + b"xy" + part


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_chunk_larger_than_a_block_is_refused(compression: int) -> None:
    with pytest.raises(ValueError, match="chunk"):
        plain_bytes(chunk(COMPRESSIONS[compression](b"a" * (BLOCK + 1))), compression, BLOCK)


@pytest.mark.parametrize("damage", [b"\xff", b"\xf0\xff", b"\x1f", b"\x00"])
def test_a_damaged_chunk_of_lz4_is_refused(damage: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be decompressed"):
        plain_bytes(chunk(damage + b"\xff" * 7), LZ4, BLOCK)
