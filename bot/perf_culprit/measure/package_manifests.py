"""The manifests of packages: names, versions, and the tags of a version."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

# No name that begins with a hyphen or a dot: it would be an option or a path to the registry's client.
PACKAGE_NAME: Final = re.compile(r"(?:@[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
PACKAGE_VERSION: Final = re.compile(r"(\d[\w.+!-]*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageManifest:
    """A kind of manifest. One of its `tables` holds the package's name and version."""

    load: Callable[[str], Any]
    tables: tuple[tuple[str, ...], ...]

    def entry(self, content: Any, key: str, form: re.Pattern[str]) -> str | None:
        """Return the first table's text under this key that has this form."""
        for path in self.tables:
            table = content
            for name in path:
                table = table.get(name) if isinstance(table, Mapping) else None
            value = table.get(key) if isinstance(table, Mapping) else None
            if isinstance(value, str) and form.fullmatch(value):
                return value
        return None


MANIFESTS: Final[Mapping[str, PackageManifest]] = {
    "pyproject.toml": PackageManifest(load=tomllib.loads, tables=(("project",), ("tool", "poetry"))),
    "package.json": PackageManifest(load=json.loads, tables=((),)),
    "Cargo.toml": PackageManifest(load=tomllib.loads, tables=(("package",), ("workspace", "package"))),
}


def tag_of_version(tags: Collection[str], name: str, version: str) -> str | None:
    """Return the tag that names this version of the package, in one of the usual forms."""
    short = name.rpartition("/")[2]
    forms = ("{1}", "v{1}", "{0}-{1}", "{0}-v{1}", "{0}@{1}", "{0}@v{1}", "{0}/v{1}", "release-{1}", "{0}_{1}")
    names = (form.format(package, version) for form in forms for package in (name, short))
    return next((tag for tag in names if tag in tags), None)
