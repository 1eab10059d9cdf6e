"""Finds the commit user of the micro-batches of a query. It is the same after a restart of the query.

Spark passes a Python data source the number of a micro-batch and the location of the checkpoint, but not the id of the
query. The id is in the file ``metadata`` of the checkpoint. The location is not sufficient: a new checkpoint in an old
location counts from 0 again, and its micro-batches would be taken for repetitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os.path import abspath
from typing import Final

from table_format.errors import BadEncoding, InvalidInputError, UnsupportedFeature
from table_format.io.file_io import FileIO
from table_format.io.regular_files import read_file
from table_format.io.stores import STORES, scheme_of

CHECKPOINT: Final = "checkpointLocation"
"""The Spark option with the checkpoint of a query."""

QUERY_ID: Final = "sql.streaming.queryId"
"""The local property in which Spark keeps the id of the query whose micro-batch a thread writes."""

_FOREACH_BATCH: Final = (
    "write with Lake.write_stream, or with foreachBatch and a commit_user and an identifier of Lake.write"
)


def user_of(query_id: str) -> str:
    """Return the commit user of a query.

    >>> user_of("5f1c")
    'spark-5f1c'
    """
    return f"spark-{query_id}"


def user_of_checkpoint(options: Mapping[str, str]) -> str:
    """Return the commit user of the query with the checkpoint in the options.

    Raises:
        InvalidInputError: the options name no checkpoint.
        UnsupportedFeature: the checkpoint is in a store that this library cannot read.
        BadEncoding: the checkpoint contains no query id.
    """
    place = options.get(CHECKPOINT)
    if place is None:
        message = (
            f"a streaming write needs the option '{CHECKPOINT}' on the query itself, to recognize repeated "
            "micro-batches; Spark does not pass a checkpoint from the settings of the session to a data source"
        )
        raise InvalidInputError(message)
    local = local_checkpoint(place)
    if local is None:
        feature = f"format('paimon') with a checkpoint in the store '{scheme_of(place)}'"
        raise UnsupportedFeature(feature, f"{feature} is not supported: {_FOREACH_BATCH}")
    files, directory = local
    path = f"{directory}/metadata"
    try:
        query_id = json.loads(read_file(files, path))["id"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the checkpoint contains no query id ({error})"
        raise BadEncoding(path, message) from error
    return user_of(query_id)


def local_checkpoint(place: str) -> tuple[FileIO, str] | None:
    """Return the directory of a checkpoint and the files to read it with; ``None`` if it is in another store."""
    store = STORES.get(scheme_of(place))
    if store is None or store.options is not None:
        return None
    # As Spark does: a relative path is one below the directory of the process, and '..' is resolved.
    return store.open(None), abspath(store.path_of(place))  # noqa: PTH100 - Spark does not follow symbolic links first
