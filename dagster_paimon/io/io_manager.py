"""Assets as tables: an IO manager that appends, upserts or overwrites by what an asset's metadata says.

Metadata of an asset: ``partition_expr``, ``paimon/write_mode``, ``paimon/primary_key``, ``paimon/options``,
``paimon/comment``, ``paimon/comments``, ``paimon/table``, ``paimon/partition_scope``, ``paimon/properties`` (of the
snapshot). Of an input: ``columns``, ``paimon/read`` (``snapshot:3``, ``tag:t1``, ``timestamp:2026-01-31 12:00:00``),
``paimon/open_end``. The annotation of a parameter says as what it is loaded: Spark DataFrame, ``pa.Table`` or
``pa.RecordBatchReader``.
"""

# Annotations are not postponed here: Dagster looks at the type of `lakehouse` and `spark` itself.

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import dagster as dg
import pyarrow as pa
from pydantic import Field, PrivateAttr

from dagster_paimon.io.commits import Committer, committer
from dagster_paimon.io.engines import read_with_spark, writer_of
from dagster_paimon.io.evolution import SchemaEvolution
from dagster_paimon.io.frames import Frame, wants_spark
from dagster_paimon.io.writing import WriteMode, WriteSpec, Written, write_output
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.reporting.reports import Report, report_of
from dagster_paimon.resources.lakehouse import LakehouseCatalog, table_name
from dagster_paimon.resources.secrets import HIDES_INPUT, redacted_errors
from dagster_paimon.resources.spark import SparkResource
from dagster_paimon.tables.measure import partition_value
from table_format.errors import InvalidInputError
from table_format.model.arguments import optional_text
from table_format.model.predicate import Compare, CompareOp, In, Predicate
from table_format.secrets import Secret
from table_format.table.read.scan import Scan
from table_format.table.table import Table

AS_OF_TAG: Final = "paimon/as_of"
"""Run tag that pins all inputs of a run, or of all runs of a backfill, to one state of the tables."""

_PASSED_ON: Final = ("dagster/column_lineage",)
_TRAVEL: Final = {"snapshot": "scan.snapshot-id", "tag": "scan.tag-name", "timestamp": "scan.timestamp"}


class PaimonIOManager(dg.ConfigurableIOManager):
    """Stores assets as tables of the lakehouse, one commit for each output of a step."""

    model_config = HIDES_INPUT
    lakehouse: dg.ResourceDependency[LakehouseCatalog]
    spark: dg.ResourceDependency[SparkResource]
    default_mode: WriteMode = Field(
        default=WriteMode.overwrite_partition, description="Write mode of assets whose metadata name none."
    )
    schema_evolution: SchemaEvolution = Field(
        default=SchemaEvolution.widen,
        description="What a frame may do to its table: error nothing, add_columns, widen also types.",
    )
    create_tables: bool = Field(default=True, description="Make a table that does not exist from the first frame.")
    plots: bool = Field(default=True, description="Put plots of snapshots, levels and file sizes into the metadata.")
    count_keys_up_to: int = Field(
        default=2_000_000,
        description="A primary-key table with more physical rows is not counted exactly: that would read all keys.",
    )
    _consumed: dict[tuple[str, str], dict[str, int]] = PrivateAttr(default_factory=dict)

    # --- out --------------------------------------------------------------------------------------------------------

    def handle_output(self, context: dg.OutputContext, obj: Frame) -> None:
        """Write one output to its table and tell Dagster about the snapshot that holds it."""
        with redacted_errors(self._secrets()):
            self._write(context, obj)

    def _secrets(self) -> tuple[Secret, ...]:
        return (*self.lakehouse.known_secrets(), *self.spark.known_secrets())

    def _write(self, context: dg.OutputContext, obj: Frame) -> None:
        began = time.monotonic()
        try:
            metadata = {**context.definition_metadata, **_plain(context.output_metadata)}
            spec = WriteSpec.of(table_name(context.asset_key, metadata), metadata, self.default_mode)
            partitions = _partitions(context)
            consumed = self._consumed.pop(_step(context), {})
            written = write_output(
                self.lakehouse.catalog(),
                spec,
                writer_of(obj, self.spark, context.log.info),
                _committer(context, partitions, consumed, spec.properties),
                partitions=partitions,
                evolution=self.schema_evolution,
                create=self.create_tables,
            )
        except InvalidInputError as error:
            # To try again would find the same.
            raise dg.Failure(description=str(error), allow_retries=False) from error
        _log_outcome(context, spec, written)
        report = report_of(
            written.table,
            written.snapshots,
            partitions=partitions if spec.mode is WriteMode.overwrite_partition else (),
            partition_column=spec.partition_column,
            plots=self.plots,
            count_keys_up_to=self.count_keys_up_to,
        )
        own = {
            "paimon/repeated": written.repeated,
            **({"paimon/schema_changes": "; ".join(written.schema_changes)} if written.schema_changes else {}),
            "paimon/seconds": round(time.monotonic() - began, 2),
            "paimon/consumed": listed(f"{table}: snapshot {snapshot}" for table, snapshot in consumed.items()),
            **{key: metadata[key] for key in _PASSED_ON if key in metadata},
        }
        _record_metadata(context, report, own)

    # --- in ---------------------------------------------------------------------------------------------------------

    def load_input(self, context: dg.InputContext) -> Frame:
        """Open the table of an upstream asset as the annotation asks, at one snapshot."""
        with redacted_errors(self._secrets()):
            return self._read(context)

    def _read(self, context: dg.InputContext) -> Frame:
        upstream = context.upstream_output.definition_metadata if context.upstream_output else {}
        metadata = context.definition_metadata or {}
        name = table_name(context.asset_key, upstream)
        table = self.lakehouse.table(name)
        scan = table.scan(
            columns=metadata.get("columns"),
            filter=None if upstream.get("paimon/partition_scope") == "input" else _condition(context, table),
            options=time_travel(metadata.get("paimon/read"), context.step_context.dagster_run.tags.get(AS_OF_TAG)),
        )
        snapshot = scan.plan().snapshot
        if snapshot is not None:
            self._consumed.setdefault(_step(context), {})[name] = snapshot.id
            context.log.info("%s", _reading(name, scan))
            context.log.debug("%s", scan.plan())
        return self._loaded(scan, context.dagster_type.typing_type, context.name)

    def _loaded(self, scan: Scan, annotation: object, name: str) -> Frame:
        if wants_spark(annotation):
            return read_with_spark(scan, self.spark)
        if annotation is pa.Table:
            return scan.to_arrow()
        if annotation is pa.RecordBatchReader:
            return scan.to_reader()
        message = (
            f"input '{name}': annotate it with SparkFrame (or pyspark's DataFrame), pyarrow.Table or "
            f"pyarrow.RecordBatchReader to say as what the table is loaded; found {annotation}"
        )
        raise dg.DagsterInvariantViolationError(message)


def _partitions(context: dg.OutputContext) -> tuple[str, ...]:
    keys = tuple(context.asset_partition_keys) if context.has_asset_partitions else ()
    if any(isinstance(key, dg.MultiPartitionKey) for key in keys):
        message = f"{context.asset_key.to_user_string()}: partitions of several dimensions are not supported"
        raise InvalidInputError(message)
    return keys


def _step(context: dg.InputContext | dg.OutputContext) -> tuple[str, str]:
    return context.step_context.run_id, context.step_context.step.key


def _committer(
    context: dg.OutputContext, partitions: tuple[str, ...], consumed: Mapping[str, int], properties: Mapping[str, str]
) -> Committer:
    step = context.step_context
    found = committer(
        step.dagster_run,
        step.instance,
        step=step.step.key,
        asset=context.asset_key.to_user_string(),
        partitions=partitions,
        consumed=consumed,
    )
    return replace(found, properties={**properties, **found.properties})


def _record_metadata(context: dg.OutputContext, report: Report, own: Mapping[str, Any]) -> None:
    context.add_output_metadata({**report.metadata, **own})
    # Output metadata is copied to every partition of a range; what differs between them is told one by one.
    for partition, rows in report.partition_rows.items():
        context.step_context.add_asset_metadata({"dagster/partition_row_count": rows}, context.asset_key, partition)
    if report.data_version is not None:
        context.step_context.set_data_version(context.asset_key, report.data_version)


def time_travel(named: str | None, pinned: str | None) -> dict[str, str]:
    """Scan options for ``snapshot:N``, ``tag:X`` or ``timestamp:T``; what the input names wins over the run's tag.

    >>> time_travel(None, "snapshot:3"), time_travel("tag:eod", "snapshot:3"), time_travel("latest", "snapshot:3")
    ({'scan.snapshot-id': '3'}, {'scan.tag-name': 'eod'}, {})
    """
    wanted = optional_text(named, "paimon/read") or pinned or "latest"
    kind, _, value = wanted.partition(":")
    if kind == "latest":
        return {}
    if kind not in _TRAVEL or not value:
        message = (
            f"'{wanted}' names no state of a table; expected latest, snapshot:<id>, tag:<name> or timestamp:<time>"
        )
        raise InvalidInputError(message)
    return {_TRAVEL[kind]: value}


def _condition(context: dg.InputContext, table: Table) -> Predicate | None:
    """The partitions to load: those Dagster asks for, where the table is partitioned by a column for them."""
    columns = table.schema.partition_keys
    if not context.has_asset_partitions or len(columns) != 1:
        return None
    column, keys = columns[0], context.asset_partition_keys
    values = tuple(partition_value(table.schema, column, key) for key in keys)
    if (context.definition_metadata or {}).get("paimon/open_end") and values:
        return Compare(column, CompareOp.GE, values[0])
    return In(column, values)


def _reading(name: str, scan: Scan) -> str:
    plan = scan.plan()
    snapshot = plan.snapshot.id if plan.snapshot else "none"
    return f"reading {name}, snapshot {snapshot}: {plan.file_count} files, {plan.row_count:,} stored rows"


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Values as they were given, out of Dagster's wrappers."""
    return {key: value.value if isinstance(value, dg.MetadataValue) else value for key, value in metadata.items()}


def _log_outcome(context: dg.OutputContext, spec: WriteSpec, written: Written) -> None:
    if written.schema_changes:
        changes = "; ".join(written.schema_changes)
        context.log.info("%s: new schema %s: %s", spec.table, written.table.schema.id, changes)
    if written.remark:
        context.log.warning("%s", written.remark)
    ids = ", ".join(str(snapshot.id) for snapshot in written.snapshots)
    if written.repeated:
        context.log.warning(
            "%s: an earlier attempt of this step committed snapshot %s already; nothing was written", spec.table, ids
        )
    elif ids:
        context.log.info("%s: %s committed snapshot %s", spec.table, spec.mode, ids)
    else:
        context.log.info("%s: %s of no rows changed nothing", spec.table, spec.mode)
