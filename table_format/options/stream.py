"""Streaming reads and changelogs as readers see them (format chapters 07, section 6, and 13, "Scan")."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from table_format.options.declare import Option
from table_format.options.values import MAX_LONG, boolean, choice, duration, integer, one_of, optional, text


class ChangelogProducer(StrEnum):
    """How changelog files are produced; the values of the option ``changelog-producer``."""

    NONE = "none"
    INPUT = "input"
    LOOKUP = "lookup"
    FULL_COMPACTION = "full-compaction"

    def first_level_with_changelog(self, num_levels: int) -> int:
        """Return the lowest level whose rows have their changelog. For lower ones, a compaction has yet to write it."""
        match self:
            case ChangelogProducer.LOOKUP:
                return 1
            case ChangelogProducer.FULL_COMPACTION:
                return num_levels - 1
            case ChangelogProducer.NONE | ChangelogProducer.INPUT:
                return 0


CHANGELOG_PRODUCER = Option(
    "changelog-producer",
    one_of(ChangelogProducer),
    ChangelogProducer.NONE,
    "What writes changelog files: nothing ('none'), the writer from its input rows ('input'), each compaction of level "
    "0 ('lookup'), or each full compaction ('full-compaction'). Readers use the changelog files, whatever wrote them. "
    "Without changelog files, a reader of changes gets the rows as commits wrote them, unmerged, for every merge "
    "engine.",
)
OVERWRITE = Option(
    "streaming-read-overwrite",
    boolean,
    False,
    "A stream of a primary-key table returns the rows that an overwrite removed and added.",
)
APPEND_OVERWRITE = Option(
    "streaming-read-append-overwrite",
    boolean,
    False,
    "A stream of an append table returns the rows that an overwrite added.",
)
DELAY = Option(
    "streaming.read.snapshot.delay", optional(duration), None, "A stream does not read snapshots younger than this."
)
BOUNDED_WATERMARK = Option(
    "scan.bounded.watermark",
    optional(integer(0, MAX_LONG)),
    None,
    "Watermark at which a stream in Python ends: at the first snapshot with a higher watermark. A streaming query of "
    "Spark, which no source can end, is refused.",
)
CONSUMER_ID = Option(
    "consumer-id",
    optional(text),
    None,
    "Name under which a stream records its progress. Expiry keeps the snapshots that the stream has not read.",
)
CONSUMER_MODE = Option(
    "consumer.mode",
    choice("exactly-once", "at-least-once"),
    "exactly-once",
    "When progress is recorded: when the reader acknowledges a checkpoint ('exactly-once'), or also whenever it "
    "requests the next plan ('at-least-once').",
)
IGNORE_PROGRESS = Option(
    "consumer.ignore-progress",
    boolean,
    False,
    "A stream starts according to its scan options, even if its consumer has recorded progress.",
)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How changes are produced and read."""

    changelog_producer: ChangelogProducer = CHANGELOG_PRODUCER.field()  # noqa: RUF009 - a field, and its default is frozen
    overwrite: bool = OVERWRITE.field()
    append_overwrite: bool = APPEND_OVERWRITE.field()
    delay_ms: int | None = DELAY.field()
    bounded_watermark: int | None = BOUNDED_WATERMARK.field()
    consumer_id: str | None = CONSUMER_ID.field()
    consumer_mode: str = CONSUMER_MODE.field()
    ignore_progress: bool = IGNORE_PROGRESS.field()
