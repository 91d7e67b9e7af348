"""Files of one revision to profiles: one per service, files being repetitions."""

from collections.abc import Sequence
from pathlib import Path

from bot.diagnose.blocks import STDIN_NAME
from bot.diagnose.profiles import kieker
from bot.diagnose.profiles.combine import combine
from bot.diagnose.profiles.file import opened
from bot.diagnose.profiles.intake import Intake
from bot.diagnose.profiles.registry import AUTO, check_format, reader_of
from bot.errors import DataError
from bot.model.profile import Profile, ProfileReading


def read_profiles(
    names: Sequence[str],
    *,
    format: str = AUTO,  # noqa: A002 - the option's name
    trusted: bool = False,
) -> ProfileReading:
    """Each file is one repetition of every service in it; `-` is standard input, a folder one Kieker log.

    `format` is an id of PROFILE_READERS, or AUTO. `trusted`: the files come from no stranger, so cProfile's may be
    opened. Raises: UsageError for a format that does not exist; DataError for a file that gives no profile,
    or for services whose files count in different units.
    """
    check_format(format)
    intake = Intake()
    services: dict[str, list[Profile]] = {}
    for name in names:
        for profile in _read(name, format, intake=intake, trusted=trusted):
            services.setdefault(profile.service, []).append(profile)
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
