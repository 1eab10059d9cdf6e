"""Determines which snapshots and changelogs may expire. Pure.

As since 2.0, the age of the next snapshot counts: a snapshot may expire if the one that replaced it is older than the
retention. Release 0.9 used the age of the snapshot itself, and kept one snapshot more or less. Snapshots below the
retain floor never expire, whatever the options are. This prevents a delayed writer from using an id twice: it gives up
before its base can have expired. Format chapter 10, section 9; Java ``ExpireSnapshotsImpl.expire``,
``ExpireChangelogImpl.expire``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from table_format.errors import InvalidOption
from table_format.model.arguments import optional_whole_number
from table_format.options.commit import CommitOptions
from table_format.options.expire import LIMIT, NUM_RETAINED_MIN


def default_retain_floor_ms(options: CommitOptions) -> int:
    """Return the age below which no snapshot ever expires: well above the maximum time of a publication.

    >>> default_retain_floor_ms(CommitOptions()) // 60_000
    15
    """
    return (options.attempt_ms + options.request_ms) * 5 // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The rules of one expiry. Times are epoch milliseconds; both bounds are exclusive."""

    retain_min: int
    retain_max: int
    older_than_ms: int
    floor_ms: int
    limit: int
    option: str = NUM_RETAINED_MIN.key
    """The option that errors name if the numbers contradict each other."""

    def __post_init__(self) -> None:
        if not 1 <= self.retain_min <= self.retain_max:
            message = f"expected 1 <= retain_min <= retain_max, found {self.retain_min} and {self.retain_max}"
            raise InvalidOption(self.option, message)
        if self.limit < 1:
            raise InvalidOption(LIMIT.key, f"expected at least 1, found {self.limit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionOverrides:
    """The bounds that one call of an expiry sets; ``None`` leaves a bound to the table's options."""

    retain_min: int | None = None
    retain_max: int | None = None
    older_than_ms: int | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        for name in ("retain_min", "retain_max", "limit"):
            optional_whole_number(getattr(self, name), name, minimum=1)
        optional_whole_number(self.older_than_ms, "older_than_ms")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bounds that are set."""
        names = ("retain_max", "retain_min", "older_than_ms", "limit")
        return tuple(name for name in names if getattr(self, name) is not None)

    def over(
        self,
        *,
        retain_min: int,
        retain_max: int,
        older_than_ms: int,
        floor_ms: int,
        limit: int,
        option: str = NUM_RETAINED_MIN.key,
    ) -> Retention:
        """Return the rules of the options, overridden by these bounds.

        Raises:
            InvalidOption: the bounds contradict each other. As in the reference, a maximum does not lower the minimum
                of the table.
        """
        if self.retain_max is not None and self.retain_min is None and self.retain_max < retain_min:
            message = (
                f"retain_max is {self.retain_max}, but the table keeps at least {retain_min}; "
                f"pass retain_min too, at most {self.retain_max}"
            )
            raise InvalidOption(option, message)
        if self.retain_min is not None and self.retain_max is None and self.retain_min > retain_max:
            message = (
                f"retain_min is {self.retain_min}, but the table keeps at most {retain_max}; "
                f"pass retain_max too, at least {self.retain_min}"
            )
            raise InvalidOption(option, message)
        return Retention(
            retain_min=_first(self.retain_min, retain_min),
            retain_max=_first(self.retain_max, retain_max),
            older_than_ms=_first(self.older_than_ms, older_than_ms),
            floor_ms=floor_ms,
            limit=_first(self.limit, limit),
            option=option,
        )


def _first(override: int | None, default: int) -> int:
    return default if override is None else override


@dataclass(frozen=True, slots=True)
class ExpiryRange:
    """The snapshots from ``begin`` up to, but not including, ``end`` expire; ``kept_by`` is why ``end`` stays.

    ``beyond_max`` counts the snapshots beyond the maximum that the retain floor keeps.
    """

    begin: int
    end: int
    kept_by: str
    beyond_max: int = 0

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the expiring snapshots, in order."""
        return tuple(range(self.begin, self.end))


def expiry_range(
    rules: Retention,
    *,
    earliest: int,
    latest: int,
    time_of: Callable[[int], int | None],
    first_needed: int | None = None,
) -> ExpiryRange:
    """Return the oldest snapshots that may expire, in a history from ``earliest`` to ``latest``.

    ``time_of`` returns the time of a snapshot, or ``None`` if it does not exist any more. ``first_needed`` is the first
    snapshot that a consumer still has to read.

    >>> rules = Retention(retain_min=2, retain_max=9, older_than_ms=50, floor_ms=100, limit=50)
    >>> expiry_range(rules, earliest=1, latest=9, time_of=lambda i: i * 10)
    ExpiryRange(begin=1, end=4, kept_by='the time retained', beyond_max=0)
    """
    allowed, kept_by = _end_of_range(
        rules,
        _Span("snapshots", earliest, latest, first_needed=first_needed),
        # The age of a snapshot is that of the next one.
        decisive_time=lambda snapshot_id: time_of(snapshot_id + 1),
    )
    end = allowed
    for snapshot_id in range(earliest, allowed):
        own_ms = time_of(snapshot_id)
        if own_ms is not None and own_ms >= rules.floor_ms:
            end, kept_by = snapshot_id, "the retain floor that protects active writers"
            break
    beyond_max = min(allowed, latest - rules.retain_max + 1) - end
    return ExpiryRange(earliest, max(end, earliest), kept_by, max(beyond_max, 0))


def changelog_range(
    rules: Retention,
    *,
    earliest: int,
    last: int,
    latest: int,
    time_of: Callable[[int], int | None],
    first_needed: int | None = None,
) -> ExpiryRange:
    """Return the oldest long-lived changelogs from ``earliest`` to ``last`` that may expire (``ExpireChangelogImpl``).

    ``latest`` is the latest snapshot, from which retained commits are counted. As in the reference, the last changelog
    stays, and the age of the changelog itself counts.

    >>> rules = Retention(retain_min=2, retain_max=9, older_than_ms=50, floor_ms=100, limit=50)
    >>> changelog_range(rules, earliest=1, last=6, latest=9, time_of=lambda i: i * 10)
    ExpiryRange(begin=1, end=5, kept_by='the time retained', beyond_max=0)
    """
    span = _Span("changelogs", earliest, latest, first_needed=first_needed, last=last)
    end, kept_by = _end_of_range(rules, span, decisive_time=time_of)
    return ExpiryRange(earliest, max(end, earliest), kept_by)


@dataclass(frozen=True, slots=True)
class _Span:
    """The range of ids from which an expiry chooses; ``last`` is the last changelog, which stays."""

    what: str
    earliest: int
    latest: int
    first_needed: int | None = None
    last: int | None = None


def _end_of_range(rules: Retention, span: _Span, *, decisive_time: Callable[[int], int | None]) -> tuple[int, str]:
    """Return the first id that must stay, and why; ``decisive_time`` returns the epoch time that counts for an id."""
    bounds = [
        (span.latest - rules.retain_min + 1, f"the number of {span.what} retained at least"),
        (span.earliest + rules.limit, "the limit of one expiry"),
    ]
    if span.last is not None:
        bounds.append((span.last, "the last changelog, which continues to the snapshots"))
    if span.first_needed is not None:
        # The snapshot before it shows whether a rollback has replaced what the consumer has read, and its files have
        # the rows that an overwrite removed.
        bounds.append((span.first_needed - 1, "a consumer that has not read the next one yet"))
    end, kept_by = min(bounds, key=lambda bound: bound[0])
    # Ids beyond the maximum number expire whatever their age.
    for number in range(max(span.latest - rules.retain_max + 1, span.earliest), end):
        time_ms = decisive_time(number)
        if time_ms is not None and time_ms >= rules.older_than_ms:
            return number, "the time retained"
    return end, kept_by
