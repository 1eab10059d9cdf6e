"""Row kinds: the kind of change of a row (format chapter 06, ``_VALUE_KIND``)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class RowKind(IntEnum):
    """The kind of change of a row. The values are stored on disk; do not change them."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def text(self) -> str:
        """``+I``, ``-U``, ``+U`` or ``-D``."""
        return ROW_KIND_TEXT[self.value]

    @property
    def is_retract(self) -> bool:
        """Whether the row retracts a value."""
        return self in (RowKind.UPDATE_BEFORE, RowKind.DELETE)


ROW_KIND_TEXT: Final = ("+I", "-U", "+U", "-D")

ROW_KIND_COLUMN: Final = "_row_kind"
"""The input column for row kinds; without it, rows have the kind ``+I``."""
