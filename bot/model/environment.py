"""Where a run was measured, as named components."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# Components that change a benchmark's level by themselves: numbers from another CPU are no baseline.
HARDWARE_COMPONENTS = ("cpu", "architecture", "os")

# A package of a lock file is the component "pip:numpy".
PACKAGE_SEPARATOR = ":"
# They name one machine of many alike, and say nothing of what it does.
OF_ONE_MACHINE = frozenset({"host"})

# Of a file: more is no machine, and a stranger's file could fill the history with it.
MOST_COMPONENTS = 2000
MOST_CHARACTERS = 100_000
LONGEST_NAME = 100
LONGEST_VALUE = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentChange:
    """A component that has another value now, such as `pip:numpy`, "2.4.5", "2.4.6"."""

    name: str
    before: str
    after: str


def is_package(component: str) -> bool:
    return PACKAGE_SEPARATOR in component


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Named components, such as {"cpu": "AMD EPYC 7763", "os": "Linux", "python": "3.13.5"}.

    The well-known names are `cpu`, `cpu_count`, `architecture`, `memory`, `os`, `os_release`, `runner_image`,
    `host`, one per compiler or runtime (`gcc`, `clang`, `python`, `java`, `go`, `rust`, `node`, `dotnet`), and one per
    package of a lock file, by its ecosystem: `pip:numpy`, `npm:react`, `cargo:serde`, `go:golang.org/x/text`.
    A component that is not known is left out, never an empty string.
    """

    components: Mapping[str, str] = field(default_factory=dict)

    def differences(self, other: "Environment", names: Iterable[str] = HARDWARE_COMPONENTS) -> tuple[str, ...]:
        """The names whose values are known on both sides and differ."""
        return tuple(
            name
            for name in names
            if name in self.components and name in other.components and self.components[name] != other.components[name]
        )

    def changes_to(self, later: "Environment") -> tuple[EnvironmentChange, ...]:
        """What is known of both and differs, packages last."""
        names = sorted(self.components.keys() - OF_ONE_MACHINE, key=lambda name: (is_package(name), name))
        ours, theirs = self.components, later.components
        return tuple(
            EnvironmentChange(name=name, before=ours[name], after=theirs[name])
            for name in self.differences(later, names)
        )

    @property
    def bounded(self) -> "Environment":
        """What a file may hold of it: the machine, then packages, up to the limits of number and size."""
        kept: dict[str, str] = {}
        room = MOST_CHARACTERS
        for name, value in sorted(self.components.items(), key=lambda item: is_package(item[0])):
            room -= len(name) + min(len(value), LONGEST_VALUE)
            if room < 0 or len(kept) == MOST_COMPONENTS:
                break
            if len(name) <= LONGEST_NAME:
                kept[name] = value[:LONGEST_VALUE]
        return Environment(components=kept)

    def merged(self, other: "Environment") -> "Environment":
        """These components, with `other`'s where this one knows nothing."""
        return Environment(components={**other.components, **self.components})
