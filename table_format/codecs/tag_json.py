"""Tag files, ``tag/tag-<name>``: the JSON of a snapshot, and two members for the tag itself (format chapter 03, 4).

A tag without them has the same bytes as a snapshot file. Times are in Jackson's form of ``LocalDateTime`` and
``Duration``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json
from table_format.codecs.snapshot_json import snapshot_members, snapshot_of
from table_format.errors import BadEncoding
from table_format.model.tag import Tag

_EPOCH: Final = datetime(1970, 1, 1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_NANOS_PER_MILLI: Final = 1_000_000


def encode_tag(tag: Tag) -> bytes:
    """Return the content of a tag file."""
    members = snapshot_members(tag.snapshot)
    if tag.create_time_ms is not None:
        members["tagCreateTime"] = _date_time_parts(tag.create_time_ms)
    if tag.time_retained_ms is not None:
        members["tagTimeRetained"] = Decimal(tag.time_retained_ms * _NANOS_PER_MILLI).scaleb(-9)
    return dump_pretty(members)


def decode_tag(data: bytes, *, path: str) -> Tag:
    """Return the tag in a file; a plain snapshot file is a tag that never expires.

    Raises:
        BadEncoding: the file is not a tag.
        LimitExceeded: the file is larger than any valid one.
        UnsupportedFeature: the snapshot has a version of a newer release.
    """
    members = JsonMembers(path, load_json(data, path=path))
    return Tag(
        snapshot=snapshot_of(members),
        create_time_ms=_create_time(members),
        time_retained_ms=_time_retained(members),
    )


def _date_time_parts(local_ms: int) -> list[int]:
    """Return the parts from year to minute, and second and nanosecond unless only zeros follow.

    >>> _date_time_parts(1_704_164_645_000), _date_time_parts(1_704_164_640_000)
    ([2024, 1, 2, 3, 4, 5], [2024, 1, 2, 3, 4])
    """
    moment = _EPOCH + local_ms * _MILLISECOND
    parts = [moment.year, moment.month, moment.day, moment.hour, moment.minute]
    if moment.second or moment.microsecond:
        parts.append(moment.second)
    if moment.microsecond:
        parts.append(moment.microsecond * 1000)
    return parts


def _create_time(members: JsonMembers) -> int | None:
    parts = members.items("tagCreateTime")
    if not parts:
        return None
    numbers = [p for p in parts if isinstance(p, int)]
    try:
        return _local_ms(numbers) if len(numbers) == len(parts) else _refuse_time(members.path, parts)
    except (ValueError, OverflowError):
        return _refuse_time(members.path, parts)


def _local_ms(parts: Sequence[int]) -> int:
    year, month, day, hour, minute, second, nanos = (*parts, *[0] * (7 - len(parts)))
    moment = datetime(year, month, day, hour, minute, second)
    if not 0 <= nanos < 1000 * _NANOS_PER_MILLI:
        message = "nanoseconds of a second"
        raise ValueError(message)
    return (moment - _EPOCH) // _MILLISECOND + nanos // _NANOS_PER_MILLI


def _refuse_time(path: str, found: Sequence[object]) -> int:
    message = f"member 'tagCreateTime': expected [ year, month, day, hour, minute, ... ], found {str(found)[:100]}"
    raise BadEncoding(path, message)


def _time_retained(members: JsonMembers) -> int | None:
    seconds = members.values.get("tagTimeRetained")
    if seconds is None:
        return None
    if isinstance(seconds, int | Decimal) and not isinstance(seconds, bool) and 0 <= seconds < 1 << 53:
        return int(seconds * 1000)
    message = f"member 'tagTimeRetained': expected seconds, found {str(seconds)[:100]}"
    raise BadEncoding(members.path, message)
