"""Reading of one revision's files into profiles: one per service, with each file as a repetition."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, ProfileNode, ProfileReading
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.read.logs.log_chunks import STDIN_NAME
from perf_culprit.read.profiles import kieker
from perf_culprit.read.profiles.profile_file import Intake, opened
from perf_culprit.read.profiles.profile_formats import AUTO, check_format, reader_of


@dataclass(kw_only=True, slots=True)
class _Node:
    first: ProfileNode
    parent: int | None
    elapsed_ms: list[float]
    self_ms: list[float]
    calls: float | None = 0.0


@dataclass(kw_only=True, slots=True)
class _Aligned:
    nodes: list[_Node] = field(default_factory=list)
    index: dict[tuple[int | None, str], int] = field(default_factory=dict)

    def node(self, parent: int | None, like: ProfileNode, repetitions: int) -> int:
        key = (parent, like.method)
        if key not in self.index:
            self.index[key] = len(self.nodes)
            self.nodes.append(
                _Node(first=like, parent=parent, elapsed_ms=[0.0] * repetitions, self_ms=[0.0] * repetitions)
            )
        return self.index[key]


def combine(profiles: Sequence[Profile]) -> Profile:
    """Concatenate the profiles' repetitions; a path that a repetition did not take has 0 there.

    Nodes are aligned by their path of methods. `calls` is the mean over all repetitions, None if a profile lacks it.
    Raises: DataError if services or units differ.
    """
    first, *others = profiles
    # The paths of a reader's own tree are distinct already.
    if not others and len({(node.parent, node.method) for node in first.nodes}) == len(first.nodes):
        return first
    for other in others:
        if (other.service, other.unit) != (first.service, first.unit):
            raise DataError(
                f"`{other.service}` in {other.unit} is not a repetition of `{first.service}` in {first.unit}",
                next_step="compare profiles that one tool made of one program in one way",
            )
    repetitions = sum(profile.repetitions for profile in profiles)
    samples = tuple(count for profile in profiles for count in profile.samples)
    aligned = _Aligned()
    offset = 0
    for profile in profiles:
        _add(aligned, profile, offset=offset, repetitions=repetitions)
        offset += profile.repetitions
    if len(aligned.nodes) > FILE_LIMITS.profile_nodes:
        raise DataError(
            f"more than {FILE_LIMITS.profile_nodes:,} different paths of methods over {repetitions} repetitions",
            next_step="check that the names leave out arguments, ids and times",
        )
    nodes = (
        replace(
            node.first,
            parent=node.parent,
            elapsed_ms=tuple(node.elapsed_ms),
            self_ms=tuple(node.self_ms),
            calls=None if node.calls is None else node.calls / repetitions,
        )
        for node in aligned.nodes
    )
    samples = samples if len(samples) == repetitions else ()
    return replace(first, repetitions=repetitions, nodes=tuple(nodes), samples=samples)


def _add(aligned: _Aligned, profile: Profile, *, offset: int, repetitions: int) -> None:
    places: list[int] = []
    for node in profile.nodes:
        place = aligned.node(None if node.parent is None else places[node.parent], node, repetitions)
        places.append(place)
        target = aligned.nodes[place]
        for i in range(profile.repetitions):
            target.elapsed_ms[offset + i] += node.elapsed_ms[i]
            target.self_ms[offset + i] += node.self_ms[i]
        is_counted = target.calls is not None and node.calls is not None
        target.calls = (target.calls or 0.0) + (node.calls or 0.0) * profile.repetitions if is_counted else None


def read_profiles(
    names: Sequence[str],
    *,
    format: str = AUTO,  # noqa: A002 - the option's name
    trusted: bool = False,
) -> ProfileReading:
    """Read each file as one repetition of every service in it. `-` is standard input; a folder is one Kieker log.

    `format` is an id of PROFILE_READERS, or AUTO. `trusted`: the files' source is trusted, so cProfile's may be opened.
    Raises: UsageError for an unknown format; DataError for a file without a profile, or if a service's files differ
    in their units.
    """
    check_format(format)
    intake = Intake()
    services: dict[str, list[Profile]] = {}
    for name in names:
        for profile in _read(name, format, intake=intake, trusted=trusted):
            services.setdefault(profile.service, []).append(profile)
    for service, read in services.items():
        if len(read) < len(names) and not read[0].are_calls:
            intake.note(because(ProfileNote.SERVICE_IN_SOME, service=service[:80], count=len(read), files=len(names)))
    return ProfileReading(
        profiles=tuple(combine(services[service]) for service in sorted(services)),
        records=intake.records,
        unused=tuple(sorted(intake.unused.items())),
        examples=tuple(intake.examples),
        notes=tuple(intake.notes),
        truncated_files=tuple(intake.truncated_files),
    )


def _read(name: str, format_name: str, *, intake: Intake, trusted: bool) -> tuple[Profile, ...]:
    if name != STDIN_NAME and Path(name).is_dir():
        return _measured(kieker.read_folder(Path(name), intake), intake=intake, place=name)
    with opened(name, intake=intake, trusted=trusted) as file:
        try:
            profiles = reader_of(file, format_name).read(file)
        except DataError as error:
            if error.place is not None:
                raise
            raise DataError(error.message, place=file.place, next_step=error.next_step) from None
        return _measured(profiles, intake=intake, place=file.place)


def _measured(profiles: Sequence[Profile], *, intake: Intake, place: str) -> tuple[Profile, ...]:
    used = tuple(profile for profile in profiles if any(sum(node.elapsed_ms) for node in profile.nodes))
    if not used:
        example = f", such as {intake.examples[-1].text[:120]!r}" if intake.examples else ""
        step = "check that the profiler ran while the program worked, and name the file's --format"
        raise DataError(f"holds no measured execution{example}", place=place, next_step=step)
    return used
