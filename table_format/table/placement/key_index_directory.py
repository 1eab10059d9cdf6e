"""The directory of the local key indexes of a table, with one subdirectory for each branch.

Separate from the indexes, so that a catalog can delete them without importing their database.
"""

from __future__ import annotations

import shutil
from hashlib import blake2b
from pathlib import Path

from table_format.runtime import Runtime, default_cache_directory


def key_index_directory(runtime: Runtime, root: str, branch: str) -> Path:
    """The directory of the table at a path, or of a branch of it."""
    return _of_table(runtime, root) / _hashed(branch)


def forget_key_indexes(runtime: Runtime, root: str) -> None:
    """Delete the local indexes of a dropped table, as far as possible."""
    shutil.rmtree(_of_table(runtime, root), ignore_errors=True)


def _of_table(runtime: Runtime, root: str) -> Path:
    return Path(runtime.cache_directory or default_cache_directory()) / "key-index" / _hashed(root)


def _hashed(name: str) -> str:
    return blake2b(name.encode(), digest_size=16).hexdigest()
