"""The file ``_SUCCESS`` in a partition that is marked as complete (Java ``SuccessFile``)."""

from __future__ import annotations

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json

_CREATED = "creationTime"
_MODIFIED = "modificationTime"


def encode_success(created_ms: int, modified_ms: int) -> bytes:
    r"""Return the content of the file; both times are epoch milliseconds.

    >>> encode_success(7, 8)
    b'{\n  "creationTime" : 7,\n  "modificationTime" : 8\n}'
    """
    return dump_pretty({_CREATED: created_ms, _MODIFIED: modified_ms})


def decode_created(data: bytes, *, path: str) -> int:
    """Return the time at which the partition was first marked, in epoch milliseconds.

    Raises:
        BadEncoding: the file does not contain the time.
        LimitExceeded: the file is larger than any valid one.
    """
    return JsonMembers(path, load_json(data, path=path)).integer(_CREATED)
