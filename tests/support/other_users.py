"""Servers that refuse to run as root are run by another user of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def as_other_user(directory: Path, accounts: Sequence[str], server: str) -> Sequence[str]:
    """What runs a command as somebody else than root, who gets the directory. Without a way the test is skipped."""
    if os.geteuid() != 0:
        return []
    account = next((name for name in accounts if _exists(name)), None)
    if account is None or shutil.which("setpriv") is None:
        pytest.skip(f"!!!!! {server} does not run as root, nothing is checked on it: install setpriv !!!!!")
    shutil.chown(directory, account)
    return ["setpriv", f"--reuid={account}", "--clear-groups"]


def _exists(account: str) -> bool:
    return subprocess.run(["id", account], capture_output=True, check=False).returncode == 0
