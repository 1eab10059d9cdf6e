"""Up to which snapshot an asset has read the changes of its source, as metadata of its output.

``changes_since_last_run`` adds it, and the I/O manager stores it in the snapshot of the asset's rows. It has its own
key, so that ``paimon/properties`` of the asset or of a run cannot remove it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from dagster_paimon.io.spec import WriteSpec
from table_format.engine.support import Consumed
from table_format.errors import InvalidInputError

READ_POSITION: Final = "paimon/read_position"


@dataclass(frozen=True, slots=True)
class ReadPosition:
    """The source whose changes a run has read, and the last snapshot that it read; ``None`` if there is none yet."""

    source: str
    read: Consumed | None

    @classmethod
    def in_metadata(cls, metadata: Mapping[str, Any]) -> ReadPosition | None:
        """Return the position in the metadata of an output; ``None`` if the run has read no changes."""
        stored = metadata.get(READ_POSITION)
        if stored is None:
            return None
        found = stored.value if isinstance(stored, dg.MetadataValue) else stored
        read = None if found["snapshot"] is None else Consumed(found["snapshot"], found["state"])
        return cls(found["source"], read)

    def metadata(self) -> dict[str, Any]:
        """Return the position as metadata of an output."""
        read = self.read
        found = {
            "source": self.source,
            "snapshot": None if read is None else read.id,
            "state": "" if read is None else read.fingerprint,
        }
        return {READ_POSITION: found}

    def consumed(self) -> dict[str, Consumed]:
        """Return the snapshot by its source; empty without one."""
        return {} if self.read is None else {self.source: self.read}

    def refuse_replacing(self, spec: WriteSpec, output: Mapping[str, Any]) -> None:
        """Refuse a write mode of the asset that would replace rows by changes. A run that sets the mode itself, as for
        complete rows, knows what it replaces.

        Raises:
            InvalidInputError: the mode replaces rows.
        """
        if spec.mode.replaces and "paimon/write_mode" not in output:
            message = (
                f"{spec.table}: {spec.mode} would replace the rows of earlier runs by the changes of {self.source} "
                "since the last run; set paimon/write_mode to upsert, append or delete, or, if the frame has the "
                "earlier rows too, set it with context.add_output_metadata in the run"
            )
            raise InvalidInputError(message)
