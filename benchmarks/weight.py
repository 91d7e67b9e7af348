"""The weight of an installation: megabytes of each distribution that it needs, with the given extras.

    python -m benchmarks.weight [EXTRA ...]

Compiled Python files are not counted, because the first start writes them.
"""

import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OWN = "perf-culprit"


def needed(extras: frozenset[str]) -> dict[str, Distribution]:
    """Return what an installation with these extras has, by name, without perf-culprit itself."""
    packages: dict[str, Distribution] = {}
    waiting = [(OWN, extras)]
    while waiting:
        name, wanted = waiting.pop()
        for requirement in map(Requirement, distribution(name).requires or ()):
            key, marker = canonicalize_name(requirement.name), requirement.marker
            is_needed = marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted))
            if is_needed and key not in packages:
                packages[key] = distribution(key)
                waiting.append((key, frozenset(requirement.extras)))
    return packages


def megabytes(package: Distribution) -> float:
    files = [file for file in package.files or () if "__pycache__" not in file.parts]
    return sum(path.stat().st_size for path in (Path(file.locate()) for file in files) if path.is_file()) / 1e6


def main() -> None:
    sizes = {name: megabytes(package) for name, package in needed(frozenset(sys.argv[1:])).items()}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size:7.1f} MB  {name}")
    print(f"{sum(sizes.values()):7.1f} MB  {len(sizes)} distributions")


if __name__ == "__main__":
    main()
