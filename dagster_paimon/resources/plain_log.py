"""A logger for a terminal: only the messages of assets and jobs, without run, job and event."""

from __future__ import annotations

import logging
import sys

import dagster as dg


class _Plain(logging.Formatter):
    """Formats only the message, without run, job and event. Warnings are marked."""

    def format(self, record: logging.LogRecord) -> str:
        meta = getattr(record, "dagster_meta", None) or {}
        text = str(meta.get("orig_message") or record.getMessage())
        step = meta.get("step_key") or ""
        prefix = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        return f"      {step + '  ' if step else ''}{prefix}{text}{_cause(meta.get('dagster_event'))}"


def _cause(event: object) -> str:
    """Return why a step failed: its own message, or the root of its chain of causes."""
    if getattr(event, "event_type_value", "") != "STEP_FAILURE":
        return ""
    data = getattr(event, "event_specific_data", None)
    said = getattr(getattr(data, "user_failure_data", None), "description", None)
    error = getattr(data, "error", None)
    while error is not None and error.cause is not None:
        error = error.cause
    text = said or (error.message.strip() if error is not None else "")
    return "".join(f"\n        {line}" for line in text.splitlines())


class _WithoutEngineEvents(logging.Filter):
    """Drops the log lines of Dagster's own events, except errors."""

    def filter(self, record: logging.LogRecord) -> bool:
        meta = getattr(record, "dagster_meta", None) or {}
        return not meta.get("dagster_event") or record.levelno >= logging.ERROR


@dg.logger(
    config_schema={"log_level": dg.Field(str, default_value="INFO", is_required=False)},
    description="Only the messages of assets and jobs, for a terminal.",
)
def plain_log(context: dg.InitLoggerContext) -> logging.Logger:
    """Return a logger to standard output."""
    logger = logging.Logger("plain", level=context.logger_config["log_level"])
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Plain())
    handler.addFilter(_WithoutEngineEvents())
    logger.addHandler(handler)
    return logger
