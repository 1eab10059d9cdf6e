"""Settings of Hive in ``hive-site.xml``: where the metastore is, and its warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.options.hive import HIVE_CONF_DIR

URIS: Final = "hive.metastore.uris"
WAREHOUSE_DIR: Final = "hive.metastore.warehouse.dir"
_REFUSED: Final = {"hive.metastore.sasl.enabled": "Kerberos (SASL)", "hive.metastore.use.SSL": "TLS"}


def read_site(directory: str | None) -> Mapping[str, str]:
    """Return the settings in the file of a directory; none without a directory.

    Raises:
        InvalidOption: there is no such file, or it is malformed. UnsupportedFeature: the metastore asks for Kerberos
            or TLS.
    """
    if directory is None:
        return {}
    path = Path(directory) / "hive-site.xml"
    try:
        root = ElementTree.parse(path).getroot()  # noqa: S314 a local file of the user
    except (OSError, ElementTree.ParseError) as error:
        raise InvalidOption(HIVE_CONF_DIR.key, f"{path} cannot be read: {error}") from error
    found = {p.findtext("name", "").strip(): p.findtext("value", "").strip() for p in root.iter("property")}
    for key, what in _REFUSED.items():
        if found.get(key, "").lower() == "true":
            raise UnsupportedFeature(key, f"{path}: '{key}' is true, and {what} is not supported by this version")
    return found
