"""Compresses and decompresses Avro blocks; the decompressed size is limited (format chapter 04, section 1).

Codec names are those of the Avro container. The zstd blocks that we write have a content checksum, which Java readers
verify.
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
    """Return the name in Avro containers of a compression that the option ``manifest.compression`` names.

    >>> avro_codec("zstd")
    'zstandard'

    Raises:
        UnsupportedFeature: the compression is unknown.
    """
    codec = _CODECS.get(compression.lower())
    if codec is None:
        feature = f"compression '{compression}' of manifests"
        message = f"{feature} is not supported; use one of {', '.join(_CODECS)}"
        raise UnsupportedFeature(feature, message)
    return codec


def compress(codec: str, data: bytes, *, zstd_level: int = _ZSTD_LEVEL) -> bytes:
    """Return the compressed content of a block."""
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
    """Return the maximum number of bytes to which a block of ``stored`` bytes may expand in our readers.

    >>> largest_expansion(10), largest_expansion(1 << 20)
    (1048576, 67108864)
    """
    return min(MAX_AVRO_BLOCK_BYTES, max(allowance, MAX_AVRO_BLOCK_EXPANSION * stored))


def decompress(codec: str, data: bytes, *, path: str, allowance: int = MIN_AVRO_BLOCK_ALLOWANCE) -> bytes:
    """Return the content of a block, which may always expand to ``allowance`` bytes.

    Raises:
        LimitExceeded: the block expands to more than any valid block.
        BadEncoding: the block cannot be decompressed.
        UnsupportedFeature: Java does not have the codec.
    """
    if codec == "null":
        return data
    expand = _EXPANDERS.get(codec)
    if expand is None:
        feature = f"Avro codec '{codec[:40]}'"
        message = f"{path}: {feature} is not supported; supported codecs: null, {', '.join(_EXPANDERS)}"
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
        # Java writes frames that do not state their size: read one byte more than allowed.
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
    # fastavro, and so the Python clients, append the first bytes of zlib's checksum to the stream.
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
"""Decompressors with a size limit, which return ``None`` if the content is larger."""
