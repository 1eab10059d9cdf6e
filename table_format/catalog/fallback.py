"""A fallback branch must exist before a table names it (Java ``SchemaValidation.validateFallbackBranch``)."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.io.table_store import TableStore
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.schema import TableSchema
from table_format.options.scan import FALLBACK_BRANCH


def check_fallback_branch(store: TableStore, schema: TableSchema) -> None:
    """Refuse a schema whose options name a branch that does not exist.

    Raises:
        InvalidOption: names the branch.
    """
    branch = FALLBACK_BRANCH.read(schema.options)
    if branch is None:
        return
    other = TableStore(store.io, store.paths.for_branch(branch), store.runtime)
    if SchemaStore(other).latest_id() is None:
        raise InvalidOption(FALLBACK_BRANCH.key, f"the table has no branch '{branch}'; create it first")
