"""Progress bars on standard error, if it is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

Report: TypeAlias = Callable[[int, int | None], None]
"""A callback with the amount done and the total; the total is ``None`` if it is unknown."""


class _Count(ProgressColumn):
    """A progress column with counts."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Return a text such as ``3/4 buckets``."""
        whole = "" if task.total is None else f"/{int(task.total):,}"
        return Text(f"{int(task.completed):,}{whole} {self._unit}")


@contextmanager
def progress_bar(title: str, unit: str) -> Iterator[Report]:
    """Show a progress bar. Yield the callback that updates it."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        _Count(unit),
        console=console,
        disable=not console.is_terminal,
    ) as bars:
        bar = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


@contextmanager
def spinner(title: str) -> Iterator[None]:
    """Show a spinner during work of unknown length."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(Text(title)):
        yield
