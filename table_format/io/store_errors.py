"""Errors of object stores as ``OSError`` with a path and a number, as those of files."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from typing import Final

_ERRNO: Final[Mapping[str, int]] = {
    "AlreadyExistsError": errno.EEXIST,
    "FileNotFoundError": errno.ENOENT,
    "NotFoundError": errno.ENOENT,
    "PermissionDeniedError": errno.EACCES,
    "UnauthenticatedError": errno.EACCES,
    "NotSupportedError": errno.EOPNOTSUPP,
}
"""By the class of the error; the error of an answer that did not come is ``EIO``."""
_REFUSED: Final = re.compile("access_?denied|invalid_?access_?key_?id|signature_?does_?not_?match", re.IGNORECASE)
_NO_FILE: Final = re.compile(r"\(code: NoSuchKey\)")
"""The error for one of the files of a request that deletes several."""
_NO_BUCKET: Final = re.compile(r"NoSuchBucket|Bucket '([^']*)' not found")
_TIMES: Final = re.compile(r" in [\d.]+[nµm]?s\b.*? - ")
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")


def error_of(path: str, error: Exception, shown: str) -> OSError:
    """Return the error as ``OSError``, whose subclass follows from its number; ``shown`` is the URI of the path.

    Only the first line and the code of the answer are kept: the rest repeats the request.
    """
    text = str(error)
    number = _ERRNO.get(type(error).__name__, errno.EIO)
    if _REFUSED.search(text):
        number = errno.EACCES
    if _NO_FILE.search(text):
        number = errno.ENOENT
    if missing := _NO_BUCKET.search(text):
        return OSError(errno.ENOENT, f"the bucket '{missing[1] or path.split('/', 2)[1]}' does not exist", shown)
    code = _CODE.search(text)
    line = _TIMES.sub(": ", text.partition("\n")[0].partition(": <")[0]).rstrip(": ")
    return OSError(number, f"{line} ({code[1]})" if code else line, shown)
