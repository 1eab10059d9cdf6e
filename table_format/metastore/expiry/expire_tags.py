"""Expiry of tags by their retention time (format chapter 10, section 10; Java ``TagTimeExpire``).

Times of tags are local wall-clock times without zone; the reference compares them in this way.
"""

from __future__ import annotations

from table_format.io.table_store import TableStore
from table_format.metastore.expiry.tag_deletion import delete_tags
from table_format.metastore.references.tag_store import TagStore
from table_format.model.arguments import optional_whole_number
from table_format.model.tag import Tag
from table_format.options.table_options import TableOptions


def expire_tags(
    store: TableStore, options: TableOptions, *, older_than_ms: int | None = None, dry_run: bool = False
) -> tuple[str, ...]:
    """Delete expired tags. Return their names.

    With ``older_than_ms`` (epoch milliseconds), tags that were created before that time are deleted too, with or
    without a retention time of their own.

    Raises:
        CorruptionError: the files that must stay cannot be determined.
        OSError: the store failed; expire again.
    """
    older_than_ms = optional_whole_number(older_than_ms, "older_than_ms")
    clock = store.runtime.clock
    now_ms = clock.local_now_ms()
    offset_ms = now_ms - clock.now_ms()
    expired = []
    for name, tag in TagStore(store).all().items():
        is_old = older_than_ms is not None and _epoch_ms(store, name, tag, offset_ms) < older_than_ms
        if is_old or is_over(tag, now_ms):
            expired.append(name)
    if not dry_run:
        delete_tags(store, options, expired)
    return tuple(expired)


def is_over(tag: Tag, local_now_ms: int) -> bool:
    """Return whether the retention time of a tag has passed; a tag without one never expires.

    >>> from table_format.model.tag import Tag
    >>> is_over(Tag(None, create_time_ms=1000, time_retained_ms=500), 1500)
    False
    >>> is_over(Tag(None, create_time_ms=1000, time_retained_ms=500), 1501)
    True
    """
    if tag.create_time_ms is None or tag.time_retained_ms is None:
        return False
    return local_now_ms > tag.create_time_ms + tag.time_retained_ms


def _epoch_ms(store: TableStore, name: str, tag: Tag, offset_ms: int) -> int:
    if tag.create_time_ms is not None:
        return tag.create_time_ms - offset_ms
    # A tag without a retention time does not contain its creation time; use that of its file.
    status = store.io.status(store.paths.tag(name))
    return store.runtime.clock.now_ms() if status is None else status.modified_ms
