"""Chooses the compression of new files of a format."""

from __future__ import annotations

from table_format.errors import UnsupportedFeature
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.files import FileOptions


def checked_codec(file_format: str, options: FileOptions) -> str:
    """Return the compression that the options select for a format.

    >>> checked_codec("orc", FileOptions(compression="snappy"))
    'snappy'

    Raises:
        UnsupportedFeature: files of the format cannot be written with this compression.
    """
    codec = options.codec_of(file_format)
    known = FILE_FORMATS[file_format].codecs
    if codec not in known:
        feature = f"compression '{codec}' of {file_format} files"
        message = f"{feature} is not supported by this version; use one of {', '.join(known)}"
        raise UnsupportedFeature(feature, message)
    return codec
