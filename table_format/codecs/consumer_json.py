"""Consumer files, ``consumer/consumer-<name>``: the id of the snapshot to read next (format chapter 03, section 6)."""

from __future__ import annotations

from typing import Final

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json

_NEXT: Final = "nextSnapshot"


def encode_consumer(next_snapshot: int) -> bytes:
    r"""Return the content of a consumer file; ``next_snapshot`` is the id of the snapshot to read next.

    >>> encode_consumer(7)
    b'{\n  "nextSnapshot" : 7\n}'
    """
    return dump_pretty({_NEXT: next_snapshot})


def decode_consumer(data: bytes, *, path: str) -> int:
    """Return the id of the snapshot that the consumer reads next.

    Raises:
        BadEncoding: the file is not a valid consumer file.
        LimitExceeded: the file is larger than any valid consumer file.
    """
    return JsonMembers(path, load_json(data, path=path)).integer(_NEXT)
