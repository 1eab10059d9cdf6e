"""Metadata files are decoded once for each content, in tests that open copies of one store hundreds of times.

What the decoders return depends on the path and the bytes alone, and never changes. What a test checks does not change
either: each file is still read in each trial, and what was damaged has other bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any, Final
from unittest.mock import patch

from table_format.metastore.manifest import manifest_store
from table_format.metastore.references import tag_store
from table_format.metastore.schema import schema_store
from table_format.metastore.snapshot import changelog_store, snapshot_store

_DECODERS: Final = (
    (manifest_store, "check_content"),
    (manifest_store, "decode_manifest_columns"),
    (manifest_store, "decode_manifest_list"),
    (manifest_store, "decode_index_manifest"),
    (schema_store, "decode_schema"),
    (snapshot_store, "decode_snapshot"),
    (changelog_store, "decode_snapshot"),
    (tag_store, "decode_tag"),
)
_KEPT: Final = 2048
"""The contents that are kept for each decoder. The least recently used one is dropped first."""


@contextmanager
def decoded_once() -> Iterator[None]:
    """Decode no content twice within the block."""
    with ExitStack() as stack:
        for module, name in _DECODERS:
            stack.enter_context(patch.object(module, name, _once(getattr(module, name))))
        yield


def _once(decode: Callable[..., Any]) -> Callable[..., Any]:
    kept = lru_cache(_KEPT)(decode)

    def decoded(data: bytes, **options: Any) -> Any:
        found = kept(bytes(data), **options)
        return list(found) if isinstance(found, list) else found

    return decoded
