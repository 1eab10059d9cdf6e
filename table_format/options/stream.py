"""Streaming reads and changelogs as readers see them (format chapters 07, section 6, and 13, "Scan")."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from table_format.options.declare import Option
from table_format.options.values import MAX_LONG, boolean, choice, duration, integer, one_of, optional, text


class ChangelogProducer(StrEnum):
    """How changelog files are made; the values stand in the option ``changelog-producer``."""

    NONE = "none"
    INPUT = "input"
    LOOKUP = "lookup"
    FULL_COMPACTION = "full-compaction"


CHANGELOG_PRODUCER = Option(
    "changelog-producer",
    one_of(ChangelogProducer),
    ChangelogProducer.NONE,
    "How changelog files are made: none, of the rows as they are written (input), or of what a compaction changes: any "
    "that takes in level 0 (lookup), or a full one (full-compaction). Readers follow them however they were made.",
)
OVERWRITE = Option(
    "streaming-read-overwrite",
    boolean,
    False,
    "A stream of a primary key table shows what an overwrite removed and added.",
)
APPEND_OVERWRITE = Option(
    "streaming-read-append-overwrite",
    boolean,
    False,
    "A stream of an append table shows what an overwrite added.",
)
DELAY = Option(
    "streaming.read.snapshot.delay", optional(duration), None, "A stream leaves out snapshots younger than this."
)
BOUNDED_WATERMARK = Option(
    "scan.bounded.watermark",
    optional(integer(0, MAX_LONG)),
    None,
    "A stream ends at the first snapshot whose watermark is above this.",
)
CONSUMER_ID = Option(
    "consumer-id",
    optional(text),
    None,
    "The name under which a stream records how far it has read; expiry keeps what it has still to read.",
)
CONSUMER_MODE = Option(
    "consumer.mode",
    choice("exactly-once", "at-least-once"),
    "exactly-once",
    "Progress is recorded when the reader acknowledges a checkpoint, or also whenever it asks for the next plan.",
)
IGNORE_PROGRESS = Option(
    "consumer.ignore-progress", boolean, False, "A stream starts by its scan options though its consumer has progress."
)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How changes are made and read."""

    changelog_producer: ChangelogProducer = CHANGELOG_PRODUCER.field()  # noqa: RUF009 - a field, and its default is frozen
    overwrite: bool = OVERWRITE.field()
    append_overwrite: bool = APPEND_OVERWRITE.field()
    delay_ms: int | None = DELAY.field()
    bounded_watermark: int | None = BOUNDED_WATERMARK.field()
    consumer_id: str | None = CONSUMER_ID.field()
    consumer_mode: str = CONSUMER_MODE.field()
    ignore_progress: bool = IGNORE_PROGRESS.field()
