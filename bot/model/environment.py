"""Where a run was measured, as named components."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# Components that change a benchmark's level by themselves: numbers from another CPU are no baseline.
HARDWARE_COMPONENTS = ("cpu", "architecture", "os")

# Of a file: more is no machine, and a stranger's file could fill the history with it.
MOST_COMPONENTS = 100
LONGEST_NAME = 100
LONGEST_VALUE = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Named components, such as {"cpu": "AMD EPYC 7763", "os": "Linux", "python": "3.13.5"}.

    The well-known names are `cpu`, `cpu_count`, `architecture`, `memory`, `os`, `os_release`, `runner_image`,
    `host` and one per runtime (`python`, `java`, `go`, `rust`, `node`, `dotnet`).
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

    @property
    def bounded(self) -> dict[str, str]:
        """What a file may hold of it."""
        named = [(name, value[:LONGEST_VALUE]) for name, value in self.components.items() if len(name) <= LONGEST_NAME]
        return dict(named[:MOST_COMPONENTS])

    def merged(self, other: "Environment") -> "Environment":
        """These components, with `other`'s where this one knows nothing."""
        return Environment(components={**other.components, **self.components})
