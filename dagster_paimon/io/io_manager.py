"""Assets as tables: an IO manager that appends, upserts, deletes or overwrites, as the metadata of the asset says.

``dagster_paimon.io.spec`` lists the metadata of assets and inputs. The annotation of a parameter sets the type of the
loaded frame (``dagster_paimon.io.frames``); without one, ``default_input_type`` does.
"""

# No postponed annotations here: Dagster inspects the types of `lakehouse` and `spark`.

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import dagster as dg
from pydantic import Field, PrivateAttr

from dagster_paimon.io.branches import (
    BRANCH_METADATA,
    BRANCH_TAG,
    branch_metadata,
    branch_of,
    existing_branch,
    on_branch,
    wap_branch,
)
from dagster_paimon.io.commits import Committer, committer, output_name, runs_of_work
from dagster_paimon.io.earlier_attempts import announce_commit, earlier_attempts
from dagster_paimon.io.engines import writer_of
from dagster_paimon.io.evolution import SchemaEvolution
from dagster_paimon.io.frames import FrameType, allows_none, frame_type_of, known_types
from dagster_paimon.io.loading import load, load_nothing
from dagster_paimon.io.materializations import record, unmaterialized
from dagster_paimon.io.partitions import condition_of, dimensions, from_first, slices_of
from dagster_paimon.io.read_position import READ_POSITION, ReadPosition
from dagster_paimon.io.spec import ReadSpec, WriteMode, WriteSpec
from dagster_paimon.io.writing import Written, write_output
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.reporting.reports import report_of
from dagster_paimon.resources.failures import about, failure
from dagster_paimon.resources.lakehouse import TABLE_ERRORS, LakehouseCatalog, table_name
from dagster_paimon.resources.secrets import HIDES_INPUT, redacted_errors
from dagster_paimon.resources.spark import SparkResource
from table_format import Predicate, Scan, Table
from table_format.counted import counted
from table_format.engine.support import Consumed, arguments
from table_format.errors import InvalidInputError, NotFoundError
from table_format.secrets import Secret

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
        default=WriteMode.overwrite_partition, description="Write mode of assets whose metadata does not set one."
    )
    default_input_type: FrameType = Field(
        default=FrameType.pyarrow, description="Type of inputs without an annotation."
    )
    schema_evolution: SchemaEvolution = Field(
        default=SchemaEvolution.widen,
        description="Allowed schema changes by a frame: error (none), add_columns, widen (also wider types).",
    )
    create_tables: bool = Field(default=True, description="Create missing tables from the first frame.")
    plots: bool = Field(default=True, description="Put plots of snapshots, levels and file sizes into the metadata.")
    count_keys_up_to: int = Field(
        default=2_000_000,
        description="Maximum number of stored rows of a primary key table for an exact row count, which reads "
        "all keys.",
    )
    _consumed: dict[tuple[str, str], dict[str, Consumed]] = PrivateAttr(default_factory=dict)

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - see the fields
        """Take the settings. Without ``spark``, a local session starts when a frame needs one.

        Raises:
            InvalidInputError: there is no ``lakehouse``.
        """
        if settings.get("lakehouse") is None:
            message = "PaimonIOManager: lakehouse is missing; pass the LakehouseCatalog of the tables"
            raise InvalidInputError(message)
        super().__init__(**{**settings, "spark": settings.get("spark") or SparkResource()})

    # --- out --------------------------------------------------------------------------------------------------------

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:  # noqa: ANN401 - see frames
        """Write one output to its table and report the snapshot to Dagster."""
        with redacted_errors(self._secrets()):
            self._write(context, obj)

    def _secrets(self) -> tuple[Secret, ...]:
        return (*self.lakehouse.known_secrets(), *self.spark.known_secrets())

    def _write(self, context: dg.OutputContext, obj: Any) -> None:  # noqa: ANN401 - see frames
        began = time.monotonic()
        try:
            output = _plain(context.output_metadata or {})
            position = ReadPosition.in_metadata(output)
            output.pop(READ_POSITION, None)
            metadata = {**_plain(context.definition_metadata or {}), **output}
            spec = self._spec(context, metadata)
            partitions = tuple(context.asset_partition_keys) if context.has_asset_partitions else ()
            _refuse_replacing_all(context, spec, partitions)
            consumed = self._consumed.get(_step(context), {})  # every output of the step has read all inputs
            if position is not None:
                position.refuse_replacing(spec, output)
                consumed = {**consumed, **position.consumed()}
            who = _committer(context, spec, partitions, consumed)
            written = write_output(
                self.lakehouse.catalog(),
                spec,
                writer_of(obj, self.spark, context.log.info),
                who,
                partitions=partitions,
                definition=context.asset_partitions_def if partitions else None,
                evolution=self.schema_evolution,
                create=self.create_tables,
                announce=partial(announce_commit, context, who.user),
            )
        except TABLE_ERRORS as error:
            raise _failure(context, _table_named(context), error) from error
        _log_outcome(context, spec, written)
        report = report_of(written.table, written.snapshots, plots=self.plots, count_keys_up_to=self.count_keys_up_to)
        own = {
            **branch_metadata(spec.branch),
            "paimon/repeated": written.repeated,
            **({"paimon/schema_changes": "; ".join(written.schema_changes)} if written.schema_changes else {}),
            "paimon/seconds": round(time.monotonic() - began, 2),
            "paimon/consumed": listed(f"{table}: snapshot {read.id}" for table, read in consumed.items()),
            **{key: metadata[key] for key in _PASSED_ON if key in metadata},
        }
        record(context, report, own, written.partition_rows, unmaterialized(context, spec, written))

    def _spec(self, context: dg.OutputContext, metadata: Mapping[str, Any]) -> WriteSpec:
        spec = WriteSpec.of(_table_of(context, metadata), metadata, self.default_mode)
        run, runs = context.step_context.dagster_run, context.step_context.instance
        return spec.on(wap_branch(run, runs) if spec.wap else branch_of(metadata, run.tags))

    # --- in ---------------------------------------------------------------------------------------------------------

    def load_input(self, context: dg.InputContext) -> Any:  # noqa: ANN401 - see frames
        """Load the table of an upstream asset at one snapshot, as the annotated type."""
        with redacted_errors(self._secrets()):
            try:
                return self._read(context)
            except TABLE_ERRORS as error:
                if not _is_in_run(context) and not isinstance(error, InvalidInputError):
                    raise
                raise _failure(context, _table_read(context), error) from error

    def _read(self, context: dg.InputContext) -> Any:  # noqa: ANN401 - see frames
        upstream = _upstream(context)
        input_name = context.name if context.has_input_name else context.asset_key.to_user_string()
        spec = ReadSpec.of(input_name, _plain(context.definition_metadata or {}))
        annotation = _annotation(context)
        wanted = self._frame_type(annotation, input_name)
        name = on_branch(*self._source(context, spec, upstream))
        try:
            table = self.lakehouse.table(name)
        except NotFoundError:
            if not _is_self_dependency(context):
                raise
            context.log.info("%s does not exist yet: nothing to read", name)
            return None if allows_none(annotation) else load_nothing(wanted, self.spark)
        if allows_none(annotation) and context.has_asset_partitions and not context.asset_partition_keys:
            return None
        condition = _condition(context, upstream, table, open_end=spec.open_end)
        scan = table.scan(
            columns=spec.columns,
            filter=condition,
            options=time_travel(spec.read, _run_tags(context).get(AS_OF_TAG)),
        )
        snapshot = scan.plan().snapshot
        if snapshot is not None:
            if _is_in_run(context):
                self._consumed.setdefault(_step(context), {})[name] = Consumed.of(snapshot)
            context.log.info("%s", _reading(name, scan))
            context.log.debug("%s", scan.plan())
        return load(scan, wanted, self.spark)

    def _source(self, context: dg.InputContext, spec: ReadSpec, upstream: Mapping[str, Any]) -> tuple[str, str | None]:
        """Return the table to read and its branch: the named one, otherwise that of the run or of the asset, if it
        exists.
        """
        table = _table_of(context, upstream)
        if spec.branch is not None or upstream.get("paimon/branch") is not None:
            return table, spec.branch or str(upstream["paimon/branch"])
        branch = _run_tags(context).get(BRANCH_TAG)
        if upstream.get("paimon/wap") is True:
            event = context.instance.get_latest_materialization_event(context.asset_key)
            written = event.asset_materialization.metadata if event and event.asset_materialization else {}
            branch = str(written[BRANCH_METADATA].value) if BRANCH_METADATA in written else None
        return table, existing_branch(self.lakehouse.catalog(), table, branch)

    def _frame_type(self, annotation: object, name: str) -> FrameType:
        if annotation is Any:
            return self.default_input_type
        wanted = frame_type_of(annotation)
        if wanted is None:
            message = (
                f"input '{name}': annotate it with the type of frame to load, a {known_types()}; found {annotation}"
            )
            raise dg.DagsterInvariantViolationError(message)
        return wanted


def _failure(context: dg.InputContext | dg.OutputContext, table: str, error: Exception) -> dg.Failure:
    """Return the failure of a step with a table. A retry repeats the error if the input is invalid."""
    is_final = isinstance(error, InvalidInputError)
    if isinstance(context, dg.InputContext) and not _is_in_run(context):
        return dg.Failure(description=about(table, error), allow_retries=not is_final)
    return failure(table, error, context.step_context, is_final=is_final)


def _table_named(context: dg.OutputContext) -> str:
    """Return the table of an output for an error, which may be about the metadata that names it."""
    try:
        return _table_of(context, _plain(context.definition_metadata or {}))
    except InvalidInputError:
        return "output" if not context.has_asset_key else context.asset_key.to_user_string()


def _table_read(context: dg.InputContext) -> str:
    """Return the table of an input for an error, which may be about the metadata that names it."""
    try:
        return _table_of(context, _upstream(context))
    except InvalidInputError:
        return context.name if context.has_input_name else context.asset_key.to_user_string()


def _table_of(context: dg.InputContext | dg.OutputContext, metadata: Mapping[str, Any]) -> str:
    """Return the table of an asset or of an op's output: by its metadata, otherwise by its name."""
    if context.has_asset_key:
        return table_name(context.asset_key, metadata)
    output = context.upstream_output if isinstance(context, dg.InputContext) else context
    return table_name(dg.AssetKey(str(metadata.get("table", output.name if output else context.name))), metadata)


def _refuse_replacing_all(context: dg.OutputContext, spec: WriteSpec, partitions: Sequence[str]) -> None:
    """Refuse a run without a partition, which Dagster allows, if it would replace the rows of all partitions.

    Raises:
        InvalidInputError: the asset has partitions, the run has none, and the mode replaces those of the run.
    """
    if partitions or spec.mode is not WriteMode.overwrite_partition or not context.has_asset_key:
        return
    if context.asset_spec.partitions_def is not None:
        message = (
            f"{spec.table}: {context.asset_key.to_user_string()} has partitions, and the run has none, so "
            "overwrite_partition would replace all rows; give the run a partition or a range of partitions, or set "
            "paimon/write_mode to overwrite_table"
        )
        raise InvalidInputError(message)


def _step(context: dg.InputContext | dg.OutputContext) -> tuple[str, str]:
    return context.step_context.run_id, context.step_context.step.key


def _committer(
    context: dg.OutputContext, spec: WriteSpec, partitions: tuple[str, ...], consumed: Mapping[str, Consumed]
) -> Committer:
    step = context.step_context
    asset = context.asset_spec if context.has_asset_key else None
    tags = asset.tags if asset else {}
    work = runs_of_work(step.dagster_run, step.instance, step.step.key)
    committed = committer(
        step.dagster_run,
        step.instance,
        work,
        output=output_name(step.step.key, context.name, context.mapping_key),
        asset=context.asset_key.to_user_string() if context.has_asset_key else str(context.name),
        partitions=partitions,
        consumed=consumed,
    )
    described = {
        **({"dagster.owners": ", ".join(asset.owners)} if asset and asset.owners else {}),
        **({"dagster.code_version": asset.code_version} if asset and asset.code_version else {}),
        **{f"dagster.tag.{key}": value for key, value in tags.items() if not key.startswith("dagster/")},
    }
    return replace(
        committed.with_properties({**spec.properties, **described}),
        attempts=earlier_attempts(context, work, committed.user),
    )


def _annotation(context: dg.InputContext) -> Any:  # noqa: ANN401 - annotations are of any kind
    try:
        return context.dagster_type.typing_type
    except dg.DagsterInvariantViolationError:  # a context that a test of a user has built
        return Any


def _is_in_run(context: dg.InputContext) -> bool:
    """Return whether a step loads the input. ``Definitions.load_asset_value`` loads it without a run."""
    try:
        return context.step_context is not None
    except dg.DagsterInvariantViolationError:
        return False


def _run_tags(context: dg.InputContext) -> Mapping[str, str]:
    return context.step_context.dagster_run.tags if _is_in_run(context) else {}


def _is_self_dependency(context: dg.InputContext) -> bool:
    if not context.has_asset_key or not _is_in_run(context):
        return False
    return context.asset_key in context.step_context.get_output_asset_keys()


def time_travel(named: str | None, pinned: str | None) -> dict[str, str]:
    """Return the scan options for a state of a table. ``named`` by an input takes precedence over ``pinned`` by a
    run tag.

    Raises:
        InvalidInputError: the text does not name a state.

    >>> time_travel(None, "snapshot:3"), time_travel("tag:eod", "snapshot:3"), time_travel("latest", "snapshot:3")
    ({'scan.snapshot-id': '3'}, {'scan.tag-name': 'eod'}, {})
    """
    wanted = arguments.optional_text(named, "paimon/read") or pinned or "latest"
    kind, _, value = wanted.partition(":")
    if kind == "latest":
        return {}
    if kind not in _TRAVEL or not value:
        message = (
            f"'{wanted}' is not a state of a table; expected latest, snapshot:<id>, tag:<name> or timestamp:<time>"
        )
        raise InvalidInputError(message)
    return {_TRAVEL[kind]: value}


def _condition(
    context: dg.InputContext, upstream: Mapping[str, Any], table: Table, *, open_end: bool
) -> Predicate | None:
    """Return the filter for the requested partitions, if a column of the table has them; otherwise all rows."""
    if not context.has_asset_partitions:
        return None
    expression = upstream.get("partition_expr")
    if expression is None and upstream.get("paimon/partition_scope") == "input":
        return None
    keys = table.schema.partition_keys
    if expression is None and len(keys) == 1:
        expression = keys[0]
    where = f"{table.identifier}: partition_expr"
    if expression is None:
        message = (
            f"{where} is missing from the metadata of {context.asset_key.to_user_string()}, which has partitions: set "
            "it to the column with the partition values, or set paimon/partition_scope to 'input' if the table does "
            "not have them"
        )
        raise InvalidInputError(message)
    dims = dimensions(context.asset_partitions_def, expression, where=where)
    slices = slices_of(dims, context.asset_partition_keys, table.schema.fields, where=where)
    return from_first(slices) if open_end else condition_of(slices)


def _reading(name: str, scan: Scan) -> str:
    plan = scan.plan()
    snapshot = plan.snapshot.id if plan.snapshot else "none"
    rows = counted(plan.row_count, "stored row", thousands=True)
    return f"reading {name}, snapshot {snapshot}: {counted(plan.file_count, 'file')}, {rows}"


def _upstream(context: dg.InputContext) -> dict[str, Any]:
    """Return the metadata of the asset that is loaded."""
    return _plain(context.upstream_output.definition_metadata or {}) if context.upstream_output else {}


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without Dagster's wrappers."""
    return {key: value.value if isinstance(value, dg.MetadataValue) else value for key, value in metadata.items()}


def _log_outcome(context: dg.OutputContext, spec: WriteSpec, written: Written) -> None:
    name = on_branch(spec.table, spec.branch)
    if written.schema_changes:
        changes = "; ".join(written.schema_changes)
        context.log.info("%s: new schema %s: %s", name, written.table.schema.id, changes)
    if written.remark:
        context.log.warning("%s", written.remark)
    ids = ", ".join(str(snapshot.id) for snapshot in written.snapshots)
    if written.repeated:
        committed = f"snapshot {ids}" if ids else "its rows, in a snapshot that has expired"
        undo = "undo them with rollback_table (before_run), and " if ids else ""
        context.log.warning(
            "%s: an earlier attempt of this step already committed %s; nothing was written. If its rows are wrong, "
            "%sstart a new run: '%s' in a run that continues a failed one does not replace them",
            name,
            committed,
            undo,
            spec.mode,
        )
    elif ids:
        context.log.info("%s: %s committed snapshot %s", name, spec.mode, ids)
    else:
        context.log.info("%s: %s of no rows changed nothing", name, spec.mode)
