"""Packages of this environment in another one, by links: what a distribution needs and nothing else.

It takes no network and no copies, so that a test can afford an environment for each extra.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(requirements: Iterable[str]) -> tuple[Distribution, ...]:
    """The distributions of this environment that requirements need, with what these need in turn.

    Raises:
        LookupError: one is not installed here.
    """
    found: dict[str, Distribution] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name not in _installed():
            message = f"{requirement} is needed and not installed in this environment"
            raise LookupError(message)
        found[name] = _installed()[name]
        for wanted in {"", *requirement.extras} - {seen for of, seen in done if of == name}:
            done.add((name, wanted))
            waiting += [(Requirement(text), wanted) for text in found[name].requires or ()]
    return tuple(found[name] for name in sorted(found))


def link_packages(chosen: Iterable[Distribution], site: Path) -> None:
    """Link the files of distributions into a directory of packages; others there stay."""
    names = {canonicalize_name(distribution.name) for distribution in chosen}
    _link(PurePosixPath(), names, site)


def _link(directory: PurePosixPath, names: set[str], site: Path) -> None:
    for child, owners in _children()[directory].items():
        here = site / directory / child
        if not owners & names or child.endswith(".pth"):  # an editable install is a .pth file
            continue
        if owners <= names and not here.exists():
            here.symlink_to(_site() / directory / child)
        elif directory / child in _children():  # several distributions share the directory
            here.mkdir(exist_ok=True)
            _link(directory / child, names, site)


@cache
def _installed() -> Mapping[str, Distribution]:
    return {canonicalize_name(found.name): found for found in distributions(path=[str(_site())])}


@cache
def _site() -> Path:
    return Path(str(next(iter(distributions(name="pyarrow"))).locate_file("")))


@cache
def _children() -> Mapping[PurePosixPath, Mapping[str, set[str]]]:
    """For each directory its content, with the names of the distributions that have files there."""
    found: dict[PurePosixPath, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, distribution in _installed().items():
        for file in distribution.files or ():
            if ".." in file.parts:  # a script
                continue
            for depth, part in enumerate(file.parts):
                found[PurePosixPath(*file.parts[:depth])][part].add(name)
    return found
