"""history -> detect -> report: a static site of everything that is stored, extended from the files already there.

A chunk is a script that passes the values of panels on, because a page that was opened from a disk may not read files.
Its name is the hash of its content: an unchanged one is not written again, and a damaged one is recognized.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from pkgutil import get_data
from typing import Final

import msgspec
from msgspec.structs import replace

from perf_culprit import __version__, git
from perf_culprit.commands.history_requests import BuildDashboard
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, DataError, NewerVersionError, UsageError
from perf_culprit.files import replace_file
from perf_culprit.flows.compare import minimum_effects
from perf_culprit.judge.categories import category_limits
from perf_culprit.judge.panel_status import Circumstances, shown_changes, standing
from perf_culprit.judge.panels import PanelGrowth, StatisticChangedError, environment_of
from perf_culprit.model.json_files import decode, decode_part, encode, schema_name
from perf_culprit.model.reason import Reason, SeriesReason, left_out_reasons
from perf_culprit.model.series import Dashboard, KeptPanel, Manifest, Panel, SeriesCommit, SeriesCulprit
from perf_culprit.progress import doing
from perf_culprit.say.dashboard import dashboard_files
from perf_culprit.say.inert import repository_name
from perf_culprit.say.reason_text import sentence
from perf_culprit.store.ancestry import line_of
from perf_culprit.store.opening import OF_SEARCHES, open_history, stored_bisections, suite_names
from perf_culprit.store.protocol import NamedRun, Store

MANIFEST: Final = "manifest.json"
PLOTTING: Final = "plotly.min.js"


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltDashboard:
    """Counts of a built folder. `read` counts the runs that were read, `written` the files that were written."""

    series: int
    runs: int
    read: int
    written: int
    unchanged: int


def _usable_token(options: BuildDashboard, token: str | None, host: str) -> str | None:
    own = git.default_remote_url(options.repository) if options.history_url is None else None
    return token if own and own.startswith(f"{host}/") else None


def build_dashboard(
    options: BuildDashboard, *, config: Config, token: str | None = None, host: str = "https://github.com"
) -> BuiltDashboard:
    """Build the site of all suites, with the runs on HEAD's own line. Unchanged files are not written again.

    `token` is for the repository's own remote, and is sent only to `host`.
    """
    plotting = plotting_library()
    manifest = None if options.rebuild else _earlier(options.folder)
    line = {commit: place for place, commit in enumerate(line_of(options.repository))}
    with open_history(
        config.history, options.repository, url=options.history_url, token=_usable_token(options, token, host)
    ) as history:
        suites = [suite for suite in suite_names(history) if not suite.endswith(OF_SEARCHES)]
        try:
            reading = _Reading(history, line, config, _stored_panels(options.folder, manifest))
            panels = [panel for suite in suites for panel in reading.panels(suite)]
        except StatisticChangedError:
            reading = _Reading(history, line, config, ())
            panels = [panel for suite in suites for panel in reading.panels(suite)]
        around = Circumstances(
            line=line,
            accepted=tuple(entry for suite in suites for entry in history.accepted(suite)),
            culprits=tuple(culprit for culprit in _culprits(history) if culprit.commit in line),
        )
    if not panels:
        raise DataError(
            "; ".join(["holds no run for a commit of this line", *map(sentence, reading.notes)]),
            place=history.place,
            next_step="record runs first, or check --history",
        )
    dashboard = _dashboard(panels, around, options.repository, reading.notes)
    entries, files = [], {PLOTTING: plotting}
    for panel in panels:
        entry, chunks = panel_entry(panel)
        entries.append(entry)
        files |= {chunk_path(name): data for name, data in chunks.items()}
    files |= dashboard_files(dashboard, entries)
    written = _write(options.folder, files, entries, manifest)
    return BuiltDashboard(
        series=sum(len(panel.series) for panel in panels),
        runs=sum(len(panel.runs) for panel in panels),
        read=reading.read,
        written=written,
        unchanged=len(files) + 1 - written,
    )


class _Reading:
    """Panels from the history and from the files of an earlier build."""

    def __init__(self, history: Store, line: Mapping[str, int], config: Config, earlier: Sequence[Panel]) -> None:
        self._history, self._line, self._config = history, line, config
        self._earlier = earlier
        self._elsewhere = self._unreadable = self.read = 0

    @property
    def notes(self) -> tuple[Reason, ...]:
        return left_out_reasons(
            {SeriesReason.OFF_THE_LINE: self._elsewhere, SeriesReason.NOT_READABLE: self._unreadable}
        )

    def panels(self, suite: str) -> Iterator[Panel]:
        """Yield one panel per environment, that of the newest run first."""
        stored = self._history.commits(suite)
        self._elsewhere += sum(count for commit, count in stored.items() if commit not in self._line)
        earlier = [panel for panel in self._earlier if panel.suite == suite]
        before: dict[str, int] = {}
        for commit in (run.commit for panel in earlier for run in panel.runs):
            before[commit] = before.get(commit, 0) + 1
        on_line = sorted((commit for commit in stored if commit in self._line), key=self._line.__getitem__)
        unchanged = {commit for commit in on_line if stored[commit] == before.get(commit)}
        growing = {_key(panel.environment): _grown(panel, self._line, unchanged) for panel in earlier}
        doing(f"reading the runs of {len(on_line) - len(unchanged):,} commits")
        for entry in self._history.runs(suite, [commit for commit in on_line if commit not in unchanged]):
            if not isinstance(entry, NamedRun):
                self._unreadable += 1
                continue
            self.read += 1
            environment = environment_of(entry.run)
            key = _key(environment)
            if key not in growing:
                growing[key] = PanelGrowth(suite, environment, self._line)
            growing[key].add(entry.run)
        effects = minimum_effects(self._config)
        doing(f"looking for changes in {len(growing):,} environments")
        grown = [self._with_limits(growth.panel(effects)) for growth in growing.values()]
        grown = [panel for panel in grown if panel.series]
        yield from sorted(grown, key=lambda panel: self._line[panel.runs[-1].commit])

    def _with_limits(self, panel: Panel) -> Panel:
        series = (
            replace(one, category_limits=category_limits(one.metric, self._config.of(one.key).categories))
            for one in panel.series
        )
        return replace(panel, series=tuple(series))


def _key(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(environment.items()))


def _grown(panel: Panel, line: Mapping[str, int], commits: Iterable[str]) -> PanelGrowth:
    growth = PanelGrowth(panel.suite, panel.environment, line, panel)
    growth.keep(frozenset(commits))
    return growth


def _culprits(history: Store) -> Iterator[SeriesCulprit]:
    for bisection in stored_bisections(history):
        for culprit in bisection.search.outcome.culprits if bisection.search.outcome else ():
            yield SeriesCulprit(
                suite=bisection.suite,
                key=bisection.key,
                commit=culprit.commit,
                relative_change=culprit.relative_change,
                posterior=culprit.posterior,
                thread=bisection.pull_request,
            )


def _dashboard(
    panels: Sequence[Panel], around: Circumstances, repository: Path, notes: tuple[Reason, ...]
) -> Dashboard:
    changes = tuple(shown_changes(panels, around))
    tags = {commit: name for name, commit in git.tags(repository).items() if commit in around.line}
    named = {run.commit for panel in panels for run in panel.runs} | tags.keys()
    named |= {change.since for change in changes} | {change.culprit.commit for change in changes if change.culprit}
    headlines = git.headlines(repository, sorted(named, key=around.line.__getitem__, reverse=True))
    commits = tuple(
        SeriesCommit(hash=commit, subject=subject, seconds=seconds, tag=tags.get(commit))
        for commit, (seconds, subject) in headlines.items()
    )
    url = git.web_address(repository)
    return Dashboard(
        commits=commits,
        panels=tuple(panels),
        changes=changes,
        standing=standing(panels, changes, commits, around.line),
        name=repository_name(url) if url else repository.resolve().name,
        repository_url=url,
        notes=notes,
    )


def plotting_library() -> bytes:
    """Return the plotting library's script. Raise UsageError if it is not installed."""
    # Read the file as plotly.offline does, but without its many imports.
    script = get_data("plotly", "package_data/plotly.min.js")
    if script is None:
        raise UsageError(
            "the plotting library is not installed",
            place="dashboard",
            next_step="pip install 'perf-culprit[dashboard]'",
        )
    return script


def _earlier(folder: Path) -> Manifest | None:
    """Read an earlier build's manifest; None if it is missing or damaged. Raise UsageError if other files are there."""
    path = folder / MANIFEST
    if not path.exists():
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(
                "holds other files than a dashboard", place=str(folder), next_step="name an empty or a new folder"
            )
        return None
    try:
        return decode(Manifest, path.read_bytes(), place=str(path))
    except NewerVersionError:
        raise
    except DataError:
        return None


def _stored_panels(folder: Path, manifest: Manifest | None) -> tuple[Panel, ...]:
    """The panels that this version built; empty if any of them is damaged."""
    if manifest is None or manifest.program != __version__:
        return ()
    try:
        return tuple(
            restored(panel, [(folder / chunk_path(name)).read_bytes() for name in panel.chunks])
            for panel in manifest.panels
        )
    except (OSError, BotError):
        return ()


def _write(folder: Path, files: Mapping[str, bytes], entries: Sequence[KeptPanel], earlier: Manifest | None) -> int:
    """Write changed files, data before what refers to it, then delete superfluous ones. Return the number written."""
    manifest = Manifest(program=__version__, files=tuple(files), panels=tuple(entries))
    written = 0
    for name, data in {**files, MANIFEST: encode(manifest)}.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == data:
            continue
        replace_file(path, data)
        written += 1
    for name in set(earlier.files if earlier else ()) - files.keys():
        if name == chunk_path(Path(name).stem):
            (folder / name).unlink(missing_ok=True)
    return written


_VALUES_PER_CHUNK: Final = 50_000
_CALLED: Final = 'perfCulprit.chunk("{}",'
_END: Final = ");\n"

_PanelValues = tuple[tuple[float | None, ...], ...]


def chunk_path(name: str) -> str:
    return f"data/{name}.js"


def panel_entry(panel: Panel) -> tuple[KeptPanel, dict[str, bytes]]:
    """Return the panel's entry in the manifest, and its chunks by name."""
    size = max(1, _VALUES_PER_CHUNK // max(len(panel.runs), 1))
    chunks = {}
    names = []
    for start in range(0, len(panel.series), size):
        data = msgspec.json.encode([one.values for one in panel.series[start : start + size]])
        name = hashlib.sha256(data).hexdigest()[:16]
        names.append(name)
        chunks[name] = _CALLED.format(name).encode() + data + _END.encode()
    bare = replace(panel, series=tuple(replace(one, values=()) for one in panel.series))
    return KeptPanel(panel=bare, chunks=tuple(names), series_per_chunk=size), chunks


def restored(panel: KeptPanel, chunks: Sequence[bytes]) -> Panel:
    """Return the panel with its values. Raise DataError if a chunk does not match the manifest."""
    values = list(chain.from_iterable(map(_chunk_values, panel.chunks, chunks)))
    if len(values) != len(panel.panel.series) or any(len(value) != len(panel.panel.runs) for value in values):
        raise DataError("the chunks hold other series than the manifest", place=panel.panel.suite)
    series = [replace(one, values=of_it) for one, of_it in zip(panel.panel.series, values, strict=True)]
    return replace(panel.panel, series=tuple(series))


def _chunk_values(name: str, script: bytes) -> _PanelValues:
    data = script.removeprefix(_CALLED.format(name).encode()).removesuffix(_END.encode())
    if hashlib.sha256(data).hexdigest()[:16] != name:
        raise DataError("is not the chunk of that name", place=chunk_path(name))
    return decode_part(_PanelValues, data, place=chunk_path(name), what=schema_name(Manifest))
