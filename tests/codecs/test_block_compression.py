"""Blocks of every codec that Java writes are decompressed, but only up to a limit."""

from __future__ import annotations

import bz2
import lzma

import pytest

from table_format.codecs.block_compression import compress, decompress
from table_format.errors import BadEncoding, LimitExceeded

CONTENT = b"some content " * 1000
STORED = {
    "bzip2": bz2.compress(CONTENT),
    "xz": lzma.compress(CONTENT),
    "deflate": compress("deflate", CONTENT),
    "snappy": compress("snappy", CONTENT),
    "zstandard": compress("zstandard", CONTENT, zstd_level=9),
    "null": CONTENT,
}


@pytest.mark.parametrize("codec", STORED)
def test_a_compressed_block_decompresses_to_its_content(codec: str) -> None:
    assert decompress(codec, STORED[codec], path="f") == CONTENT


@pytest.mark.parametrize("codec", [codec for codec in STORED if codec != "null"])
@pytest.mark.parametrize("damage", ["cut", "more", "other"])
def test_a_damaged_block_is_an_error_of_its_file(codec: str, damage: str) -> None:
    stored = STORED[codec]
    damaged = {"cut": stored[:-9], "more": stored + b"more of it", "other": b"\x07" + stored[1:]}[damage]
    with pytest.raises((BadEncoding, LimitExceeded), match=r"^f: "):
        decompress(codec, damaged, path="f")


@pytest.mark.parametrize("codec", ["bzip2", "xz", "deflate", "zstandard"])
def test_no_block_expands_beyond_its_bound_unless_it_is_allowed_to(codec: str) -> None:
    content = b"\0" * 3_000_000
    stored = {"bzip2": bz2.compress, "xz": lzma.compress}.get(codec, lambda data: compress(codec, data))(content)
    with pytest.raises(LimitExceeded, match="expands to more than"):
        decompress(codec, stored, path="f")
    assert decompress(codec, stored, path="f", allowance=4_000_000) == content
