"""Errors of decoding a data file name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from table_format.errors import BadEncoding, TableFormatError


@contextmanager
def decoding(path: str, format_name: str) -> Iterator[None]:
    """Make of every error that comes from the bytes of a file one that names it.

    Raises:
        BadEncoding: in place of what Arrow, or code that goes by what the bytes say, raised.
    """
    try:
        yield
    except (TableFormatError, pa.ArrowMemoryError):
        raise
    except (pa.ArrowException, ValueError, KeyError, IndexError, OverflowError) as error:
        raise BadEncoding(path, f"not a sound {format_name} file: {error}") from error
    except OSError as error:
        # Arrow reports a broken file as an OSError without number; one with a number is the store's.
        if error.errno is not None:
            raise
        raise BadEncoding(path, f"not a sound {format_name} file: {error}") from error
