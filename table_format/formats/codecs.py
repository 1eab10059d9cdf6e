"""Which compression new files of a format get."""

from __future__ import annotations

from table_format.errors import UnsupportedFeature
from table_format.options.files import CODECS, FileOptions


def checked_codec(file_format: str, options: FileOptions) -> str:
    """The compression the options ask for.

    >>> checked_codec("orc", FileOptions(compression="snappy"))
    'snappy'

    Raises:
        UnsupportedFeature: files of that format cannot be written with it.
    """
    codec = options.codec_of(file_format)
    if codec not in CODECS[file_format]:
        feature = f"compression '{codec}' of {file_format} files"
        message = f"{feature} is not supported by this version; use one of {', '.join(CODECS[file_format])}"
        raise UnsupportedFeature(feature, message)
    return codec
