"""Compression of Avro blocks, with the expansion bounded before memory is given to it (format chapter 04, section 1).

Names are those of the Avro container; zstd blocks we write carry a content checksum, which Java readers verify.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from typing import Final

import cramjam
import zstandard

from table_format.errors import BadEncoding, LimitExceeded, UnsupportedFeature
from table_format.limits import MAX_AVRO_BLOCK_BYTES, MAX_AVRO_BLOCK_EXPANSION, MIB, MIN_AVRO_BLOCK_ALLOWANCE

_ZSTD_LEVEL: Final = 1
_ZSTD_MAX_WINDOW: Final = 1 << 27
_CRC_BYTES: Final = 4
_CODECS: Final = {
    "zstd": "zstandard",
    "zstandard": "zstandard",
    "snappy": "snappy",
    "deflate": "deflate",
    "null": "null",
    "none": "null",
    "uncompressed": "null",
}
_MAX_LZMA_MEMORY: Final = 256 * MIB


def avro_codec(compression: str) -> str:
    """The container's name for a compression as the option ``manifest.compression`` writes it.

    >>> avro_codec("zstd")
    'zstandard'

    Raises:
        UnsupportedFeature: no such compression.
    """
    codec = _CODECS.get(compression.lower())
    if codec is None:
        feature = f"compression '{compression}' of manifests"
        message = f"{feature} is not supported; use one of {', '.join(_CODECS)}"
        raise UnsupportedFeature(feature, message)
    return codec


def compress(codec: str, data: bytes, *, zstd_level: int = _ZSTD_LEVEL) -> bytes:
    """A block as the container stores it."""
    match codec:
        case "zstandard":
            return zstandard.ZstdCompressor(level=zstd_level, write_checksum=True).compress(data)
        case "snappy":
            return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(_CRC_BYTES, "big")
        case "deflate":
            deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            return deflate.compress(data) + deflate.flush()
    return data


def largest_expansion(stored: int, *, allowance: int = MIN_AVRO_BLOCK_ALLOWANCE) -> int:
    """The most bytes that a block of ``stored`` bytes may expand to, for any reader of ours.

    >>> largest_expansion(10), largest_expansion(1 << 20)
    (1048576, 67108864)
    """
    return min(MAX_AVRO_BLOCK_BYTES, max(allowance, MAX_AVRO_BLOCK_EXPANSION * stored))


def decompress(codec: str, data: bytes, *, path: str, allowance: int = MIN_AVRO_BLOCK_ALLOWANCE) -> bytes:
    """The content of a block; ``allowance`` is how many bytes it may always expand to.

    Raises:
        LimitExceeded: it expands to more than any sound block.
        BadEncoding: it cannot be decompressed.
        UnsupportedFeature: the codec is none of Java's.
    """
    if codec == "null":
        return data
    expand = _EXPANDERS.get(codec)
    if expand is None:
        feature = f"Avro codec '{codec[:40]}'"
        message = f"{path}: {feature} is not supported; those of Java are null, {', '.join(_EXPANDERS)}"
        raise UnsupportedFeature(feature, message)
    bound = largest_expansion(len(data), allowance=allowance)
    try:
        content = expand(data, bound)
    except (zstandard.ZstdError, zlib.error, lzma.LZMAError, cramjam.DecompressionError, OSError, ValueError) as e:
        message = f"a block of {len(data)} bytes cannot be decompressed with {codec}: {e}"
        raise BadEncoding(path, message) from e
    if content is None or len(content) > bound:
        message = f"a block of {len(data)} bytes expands to more than {bound}"
        raise LimitExceeded(path, message)
    return content


def _zstd(data: bytes, bound: int) -> bytes | None:
    declared = zstandard.get_frame_parameters(data).content_size
    if declared == zstandard.CONTENTSIZE_UNKNOWN:
        # Java streams into a frame that does not say its size: read one byte more than allowed.
        reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW).stream_reader(
            data, read_across_frames=True
        )
        return reader.read(bound + 1)
    if declared > bound:
        return None
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)
    return decompressor.decompress(data, allow_extra_data=False)


def _snappy(data: bytes, bound: int) -> bytes | None:
    if cramjam.snappy.decompress_raw_len(data[:-_CRC_BYTES]) > bound:
        return None
    content = bytes(cramjam.snappy.decompress_raw(data[:-_CRC_BYTES]))
    if zlib.crc32(content).to_bytes(_CRC_BYTES, "big") != data[-_CRC_BYTES:]:
        message = "the checksum does not match"
        raise ValueError(message)
    return content


def _deflate(data: bytes, bound: int) -> bytes | None:
    inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    content = inflate.decompress(data, bound + 1)
    if len(content) > bound:
        return None
    # fastavro, and so the Python clients, leave the first bytes of zlib's checksum behind the stream.
    checksum = zlib.adler32(content).to_bytes(4, "big")
    if not inflate.eof or not checksum.startswith(inflate.unused_data):
        message = "the stream does not end with the block"
        raise ValueError(message)
    return content


def _bzip2(data: bytes, bound: int) -> bytes | None:
    return _ended(bz2.BZ2Decompressor(), data, bound)


def _xz(data: bytes, bound: int) -> bytes | None:
    return _ended(lzma.LZMADecompressor(memlimit=_MAX_LZMA_MEMORY), data, bound)


def _ended(expand: bz2.BZ2Decompressor | lzma.LZMADecompressor, data: bytes, bound: int) -> bytes | None:
    content = expand.decompress(data, bound + 1)
    if len(content) > bound:
        return None
    if not expand.eof or expand.unused_data:
        message = "the stream does not end with the block"
        raise ValueError(message)
    return content


_EXPANDERS: Final[Mapping[str, Callable[[bytes, int], bytes | None]]] = {
    "zstandard": _zstd,
    "snappy": _snappy,
    "deflate": _deflate,
    "bzip2": _bzip2,
    "xz": _xz,
}
"""What decompresses up to a bound; nothing when there would be more."""
