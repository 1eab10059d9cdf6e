"""Under whose name the micro-batches of a query are committed: that of the query, which outlives its restarts.

Spark gives a Python data source the number of a batch and the place of the checkpoint, but not the id of the query,
which stands in the file ``metadata`` of the checkpoint. The place alone would not do: with a new checkpoint at an old
place batches are counted from 0 again, and would be taken for repetitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from table_format.errors import BadEncoding, InvalidInputError, UnsupportedFeature
from table_format.io.sound_files import read_file
from table_format.io.stores import STORES, scheme_of

CHECKPOINT: Final = "checkpointLocation"
"""The option of Spark that names the checkpoint of a query."""

_FOREACH_BATCH: Final = "write with Lake.write_stream, or with foreachBatch and Lake.write(commit_user=, identifier=)"


def user_of(query_id: str) -> str:
    """The commit user of a query.

    >>> user_of("5f1c")
    'spark-5f1c'
    """
    return f"spark-{query_id}"


def user_of_checkpoint(options: Mapping[str, str]) -> str:
    """The commit user of the query whose checkpoint the options name.

    Raises:
        InvalidInputError: they name none.
        UnsupportedFeature: the checkpoint lies in a store that this library cannot read.
        BadEncoding: the checkpoint does not say which query it belongs to.
    """
    place = options.get(CHECKPOINT)
    if place is None:
        message = (
            f"a streaming write needs the option '{CHECKPOINT}' of the query itself: by it a micro-batch that is "
            "repeated is recognised; a checkpoint of the session's settings is not shown to a data source"
        )
        raise InvalidInputError(message)
    scheme = scheme_of(place)
    store = STORES.get(scheme)
    if store is None or store.options is not None:
        feature = f"format('paimon') with a checkpoint in the store '{scheme}'"
        raise UnsupportedFeature(feature, f"{feature} is not supported: {_FOREACH_BATCH}")
    path = f"{store.path_of(place).rstrip('/')}/metadata"
    try:
        query_id = json.loads(read_file(store.open(None), path))["id"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the checkpoint does not say which query it belongs to ({error})"
        raise BadEncoding(path, message) from error
    return user_of(query_id)
