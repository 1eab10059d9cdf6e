"""The text of option values in a schema, which every reader of the format can parse.

Readers in Java do not accept blanks around a number, ``P1D`` for a duration, or ``partial_update`` for
``partial-update``. Some of their words are in lower case only, and each file format has its own word for "no
compression". Free forms are stored in the strict form; other texts stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from table_format.options import changelog, files, manifest
from table_format.options.file_formats import AVRO, FILE_FORMATS, ORC
from table_format.options.registry import find

_CODEC_KEYS: Final = (
    files.COMPRESSION.key,
    files.COMPRESSION_PER_LEVEL.key,
    changelog.COMPRESSION.key,
    files.ORC_COMPRESSION.key,
    files.AVRO_COMPRESSION.key,
    manifest.COMPRESSION.key,
)
_ZSTD_OF_AVRO: Final = "zstandard"
"""What the library of Java for Avro calls ``zstd``; Paimon translates it in its own options only."""
_FORMAT_KEYS: Final = frozenset(
    {files.FORMAT.key, files.FORMAT_PER_LEVEL.key, changelog.FORMAT.key, manifest.FORMAT.key}
)


def stored_options(options: Mapping[str, str], *, changed: Collection[str] | None = None) -> dict[str, str]:
    """Return the options of a schema with their stored text. Unknown keys and malformed values stay unchanged.

    ``changed`` are the keys that are given now; without it, all are.

    >>> stored_options({"merge-engine": "partial_update", "bucket": " 4 ", "file.compression": "none", "x": " 1 "})
    {'merge-engine': 'partial-update', 'bucket': '4', 'file.compression': 'uncompressed', 'x': ' 1 '}
    """
    touched = set(options if changed is None else changed)
    stored = {key: _stored(key, value) if key in touched else value for key, value in options.items()}
    for key in _CODEC_KEYS:
        if key in stored and (key in touched or touched & _FORMAT_KEYS):
            stored[key] = _attempt(_codecs_of(key, stored), stored[key])
    return stored


def uncompressed_word(file_format: str) -> str:
    """What the engines of a format call "no compression"; of an unknown format ``none``."""
    facts = FILE_FORMATS.get(file_format)
    return "none" if facts is None else facts.uncompressed


def _stored(key: str, value: str) -> str:
    option = find(key)
    return value if option is None else _attempt(option.parser.stored, value)


def _attempt(stored: Callable[[str], str], value: str) -> str:
    try:
        return stored(value)
    except (ValueError, TypeError, AttributeError):
        return value  # The checks that follow refuse it, and show what was written.


def _codecs_of(key: str, options: Mapping[str, str]) -> Callable[[str], str]:
    data = _word(options.get(files.FORMAT.key, files.FORMAT.default))
    formats = {
        changelog.COMPRESSION.key: _word(options.get(changelog.FORMAT.key, data)),
        files.ORC_COMPRESSION.key: ORC.name,
        files.AVRO_COMPRESSION.key: AVRO.name,
        manifest.COMPRESSION.key: _word(options.get(manifest.FORMAT.key, manifest.FORMAT.default)),
    }
    if key == files.COMPRESSION_PER_LEVEL.key:
        return lambda text: _of_levels(text, dict(files.FORMAT_PER_LEVEL.read(options)), data)
    if key == files.AVRO_COMPRESSION.key:
        return _codec_of_avro_library
    return lambda text: _codec(text, formats.get(key, data))


def _of_levels(text: str, formats: Mapping[int, str], default: str) -> str:
    pairs = files.COMPRESSION_PER_LEVEL.parser(text)
    return ",".join(f"{level}:{_codec(codec, _word(formats.get(level, default)))}" for level, codec in pairs)


def _codec(text: str, file_format: str) -> str:
    codec = files.COMPRESSION.parser(text)
    return uncompressed_word(file_format) if codec == "none" else codec


def _codec_of_avro_library(text: str) -> str:
    codec = _codec(text, AVRO.name)
    return _ZSTD_OF_AVRO if codec == "zstd" else codec


def _word(text: str) -> str:
    return text.strip().lower()
