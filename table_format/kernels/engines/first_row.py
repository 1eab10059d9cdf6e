"""``first-row``: keeps the first version of a key (format chapter 12, section 3; Java ``FirstRowMergeFunction``)."""

from __future__ import annotations

from typing import Final

import numpy as np

from table_format.errors import RetractNotSupported
from table_format.kernels.engines.outcome import Outcome
from table_format.kernels.engines.spec import FirstRow
from table_format.kernels.engines.versions import Versions

FIRST_ROW_REFUSAL: Final = (
    "merge-engine 'first-row' cannot retract rows, and the rows include a -D or -U row; set 'ignore-delete' to "
    "'true' to ignore these rows"
)


def first_row(versions: Versions, engine: FirstRow) -> Outcome:
    """Return the first version that adds, with its kind and sequence number; a key may have no such version.

    Raises:
        RetractNotSupported: there is a retract, and the options do not ignore it.
    """
    if versions.kinds is None:
        return Outcome(versions.order[versions.starts], versions.stored_kinds(versions.starts), {})
    if not engine.ignore_delete:
        raise RetractNotSupported(FIRST_ROW_REFUSAL)
    count = versions.order.size
    first = np.minimum.reduceat(np.where(versions.is_retract, count, np.arange(count)), versions.starts)
    kept = first < count
    first = np.where(kept, first, versions.starts)
    return Outcome(versions.order[first], versions.stored_kinds(first), {}, None if kept.all() else kept)
