"""The description of the wheel: README without pictures and links that lead only inside the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Readme(MetadataHookInterface):
    """Sets the field ``readme`` of the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the description."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_relative_links(text)}


def without_relative_links(text: str) -> str:
    """Return a Markdown text without relative pictures, their captions, and relative links; link texts stay."""
    text = re.sub(r'<img src="(?!https?://)[^>]*>\n\n\*[^*]*\*\n\n', "", text)
    return re.sub(r"\[([^\]]*)\]\((?!https?://|#)[^)]*\)", r"\1", text)
