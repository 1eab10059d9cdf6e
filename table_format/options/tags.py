"""Tags that commits create automatically, and how long tags are retained (format chapters 10, section 10, and 13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.options.declare import Option
from table_format.options.values import Parser, boolean, choice, duration, duration_within, integer, optional, text
from table_format.options.zones import zone_of


def _exactly(*values: str) -> Parser[str]:
    """One of a few words, in any case; these are written with ``_``, and the reference takes no other form."""

    def parse(value: str) -> str:
        lowered = value.strip().lower()
        if lowered not in values:
            raise ValueError(value)
        return lowered

    return Parser(f"one of {', '.join(values)}", parse, edges=values)


def _parse_zone(value: str) -> str:
    zone_of(value.strip())
    return value.strip()


_zone: Final = Parser(
    "a time zone such as 'Europe/Berlin', 'UTC' or 'GMT-08:00'", _parse_zone, edges=("UTC", "GMT-08:00", "Asia/Kolkata")
)

_CENTURY_MS: Final = 36_525 * 86_400_000

AUTOMATIC_CREATION = Option(
    "tag.automatic-creation",
    choice("none", "process-time", "watermark", "batch"),
    "none",
    "Which tags commits create: one for each period that has passed by the clock ('process-time') or by the watermark "
    "('watermark'), or one for the day of each commit of rows ('batch').",
)
CREATION_PERIOD = Option("tag.creation-period", choice("daily", "hourly", "two-hours"), "daily", "Period of one tag.")
CREATION_PERIOD_DURATION = Option(
    "tag.creation-period-duration",
    optional(duration_within(1, _CENTURY_MS)),
    None,
    "Period that one tag covers, as a duration. It takes precedence over 'tag.creation-period'; tag names then include "
    "the minute.",
)
CREATION_DELAY = Option(
    "tag.creation-delay",
    duration,
    0,
    "Delay after the end of a period before its tag is created, to allow for late rows.",
)
PERIOD_FORMATTER = Option(
    "tag.period-formatter",
    _exactly("with_dashes", "without_dashes", "without_dashes_and_spaces"),
    "with_dashes",
    "Format of the period in tag names.",
)
NUM_RETAINED_MAX = Option(
    "tag.num-retained-max", optional(integer(1)), None, "Maximum number of automatically created tags to keep."
)
DEFAULT_TIME_RETAINED = Option(
    "tag.default-time-retained",
    optional(duration_within()),
    None,
    "Default retention time of a new tag.",
)
AUTOMATIC_COMPLETION = Option(
    "tag.automatic-completion", boolean, False, "Create tags for periods without a commit too, at a later commit."
)
BATCH_CUSTOMIZED_NAME = Option(
    "tag.batch.customized-name", optional(text), None, "Name of the tag that 'batch' creates, instead of the day."
)
TIME_EXPIRE_ENABLED = Option(
    "tag.time-expire-enabled", boolean, True, "Commits delete tags whose retention time has passed."
)
PROCESS_TIME_ZONE = Option(
    "sink.process-time-zone",
    optional(_zone),
    None,
    "Time zone of the clock for tag names; by default that of the machine.",
)
WATERMARK_TIME_ZONE = Option("sink.watermark-time-zone", _zone, "UTC", "Time zone of the watermark for tag names.")


@dataclass(frozen=True, slots=True)
class TagOptions:
    """Which tags are created automatically, when, and how long they are kept."""

    automatic_creation: str = AUTOMATIC_CREATION.field()
    creation_period: str = CREATION_PERIOD.field()
    creation_period_duration_ms: int | None = CREATION_PERIOD_DURATION.field()
    creation_delay_ms: int = CREATION_DELAY.field()
    period_formatter: str = PERIOD_FORMATTER.field()
    num_retained_max: int | None = NUM_RETAINED_MAX.field()
    default_time_retained_ms: int | None = DEFAULT_TIME_RETAINED.field()
    automatic_completion: bool = AUTOMATIC_COMPLETION.field()
    batch_customized_name: str | None = BATCH_CUSTOMIZED_NAME.field()
    time_expire_enabled: bool = TIME_EXPIRE_ENABLED.field()
    process_time_zone: str | None = PROCESS_TIME_ZONE.field()
    watermark_time_zone: str = WATERMARK_TIME_ZONE.field()

    @property
    def period_ms(self) -> int:
        """The length of the period of one tag."""
        if self.creation_period_duration_ms is not None:
            return self.creation_period_duration_ms
        return {"daily": 86_400_000, "hourly": 3_600_000, "two-hours": 7_200_000}[self.creation_period]
