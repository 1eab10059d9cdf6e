"""Verifies that the metadata, files and rows of a table agree, and can repair hints."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.config import PartitionsConfig
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import Metadata, listed, markdown_lines
from table_format import Depth, Table, VerifyReport
from table_format.counted import counted
from table_format.engine.support import require_partitions

_DEPTHS: Final = ", ".join(depth.name.lower() for depth in Depth)


class VerifyConfig(PartitionsConfig):
    """The tables, and the depth."""

    depth: str = Field(default="files", description=f"One of {_DEPTHS}; each includes those before it.")
    repair: bool = Field(default=False, description="Repair what can be repaired safely, such as hints.")
    fail_on_errors: bool = Field(
        default=True, description="Fail the run if a read would fail or be wrong; otherwise only report it."
    )
    on_spark: bool = Field(default=True, description="One Spark task for each bucket; otherwise in this process.")


def verify_one(visit: Visit, config: VerifyConfig) -> Outcome:
    """Check one table."""
    partitions = config.partitions or None
    if config.on_spark:
        with visit.session("verifying") as session:
            report = visit.lakehouse.lake(session).verify(
                visit.name, depth=config.depth, partitions=partitions, repair=config.repair
            )
    else:
        report = visit.table().verify(depth=config.depth, partitions=partitions, repair=config.repair)
    for finding in report.errors:
        visit.log.error("%s: %s", visit.name, finding)
    for finding in report.warnings:
        visit.log.warning("%s: %s", visit.name, finding)
    summary = _summary(report)
    return Outcome(
        title=f"verification ({config.depth})",
        summary=summary,
        metadata={
            "errors": len(report.errors),
            "warnings": len(report.warnings),
            "snapshots checked": report.snapshots,
            "manifests checked": report.manifests,
            "files checked": report.files,
            "rows read": report.rows,
            "repaired": listed(report.repaired),
            **_findings(report),
        },
        problem=f"{visit.name}: {summary}" if report.errors and config.fail_on_errors else None,
    )


def _findings(report: VerifyReport) -> Metadata:
    if not report.findings:
        return {}
    return {"findings": markdown_lines((), (f"- {finding}" for finding in report.findings))}


def _summary(report: VerifyReport) -> str:
    rows = counted(report.rows, "row", thousands=True)
    checked = f"{counted(report.snapshots, 'snapshot')}, {counted(report.files, 'file')}, {rows} checked"
    if not report.findings:
        return f"no problems: {checked}"
    found = f"{counted(len(report.errors), 'error')} and {counted(len(report.warnings), 'warning')}"
    return f"{found}: {checked}; {report.findings[0]}"


def _check(table: Table, config: VerifyConfig) -> None:
    Depth.of(config.depth)
    require_partitions(table, config.partitions)


def _repairs(config: VerifyConfig) -> bool:
    return config.repair


VERIFY: Final = Maintenance(
    job="verify_table",
    op="verify",
    description="Check that metadata, files and rows of a table agree; optionally repair hints.",
    config=VerifyConfig,
    work=verify_one,
    check=_check,
    changes=_repairs,
    measured=False,
    uses_spark=True,
)
