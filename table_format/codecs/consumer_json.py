"""Consumer files, ``consumer/consumer-<name>``: the snapshot that is read next (format chapter 03, section 6)."""

from __future__ import annotations

from typing import Final

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json

_NEXT: Final = "nextSnapshot"


def encode_consumer(next_snapshot: int) -> bytes:
    r"""The content of the file.

    >>> encode_consumer(7)
    b'{\n  "nextSnapshot" : 7\n}'
    """
    return dump_pretty({_NEXT: next_snapshot})


def decode_consumer(data: bytes, *, path: str) -> int:
    """The snapshot that the consumer reads next.

    Raises:
        BadEncoding: the file does not say.
        LimitExceeded: it is larger than any sound one.
    """
    return JsonMembers(path, load_json(data, path=path)).integer(_NEXT)
