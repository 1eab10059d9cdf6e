"""Chooses the input of one micro-batch: whole splits, within the limits of the options. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.errors import InvalidOption
from table_format.model.split import DataSplit
from table_format.options.spark_stream import MAX_DELAY, MIN_ROWS, SparkStreamOptions


@dataclass(frozen=True, slots=True)
class Size:
    """The size of one or more splits."""

    files: int = 0
    bytes: int = 0
    rows: int = 0

    @classmethod
    def of(cls, split: DataSplit) -> Size:
        """Return the size of a split, with stored rows."""
        files = (*split.before_files, *split.files)
        return cls(len(files), sum(file.file_size for file in files), sum(file.row_count for file in files))

    def __add__(self, other: Size) -> Size:
        """Return the sum of two sizes.

        >>> Size(1, 10, 2) + Size(1, 5, 3)
        Size(files=2, bytes=15, rows=5)
        """
        return Size(self.files + other.files, self.bytes + other.bytes, self.rows + other.rows)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a micro-batch. ``Limits()`` has no limit."""

    most: Size | None = None
    min_rows: int | None = None
    max_delay_ms: int = 0

    @classmethod
    def of(cls, options: SparkStreamOptions) -> Limits:
        """Return the limits of the options.

        Raises:
            InvalidOption: only one of two options that require each other is given.
        """
        if (options.min_rows is None) != (options.max_delay_ms is None):
            given, missing = (MIN_ROWS, MAX_DELAY) if options.max_delay_ms is None else (MAX_DELAY, MIN_ROWS)
            raise InvalidOption(given.key, f"has no effect without {missing.key}; set both or none")
        given_limits = (options.max_files, options.max_bytes, options.max_rows)
        most = Size(*(_WITHOUT if limit is None else limit for limit in given_limits)) if any(given_limits) else None
        return cls(most, options.min_rows, options.max_delay_ms or 0)

    def admits(self, taken: Size, split: Size) -> bool:
        """Return whether a micro-batch with the size ``taken`` takes another split. It always takes the first split.

        >>> limits = Limits(Size(files=2, bytes=100, rows=10))
        >>> limits.admits(Size(), Size(5, 500, 50)), limits.admits(Size(1, 10, 5), Size(1, 10, 6))
        (True, False)
        """
        if self.most is None or taken == Size():
            return True
        total = taken + split
        most = self.most
        return total.files <= most.files and total.bytes <= most.bytes and total.rows <= most.rows

    def waits(self, rows: int, *, since_last_ms: int) -> bool:
        """Return whether a micro-batch waits for more rows, given the available rows and the time since the last one.

        >>> [Limits(None, 10, 500).waits(rows, since_last_ms=ms) for rows, ms in ((9, 500), (9, 501), (10, 0))]
        [True, False, False]
        """
        return self.min_rows is not None and rows < self.min_rows and since_last_ms <= self.max_delay_ms


_WITHOUT = (1 << 63) - 1
