"""A dashboard's own files, to be grown by the next build: what it holds (manifest.json), and chunks of values.

A chunk is a script that hands its values over, because a page that was opened from a disk may not read files. Its name
is that of its content: an unchanged one is not written again, and one that was damaged is not believed.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal

import msgspec

from perf_culprit.errors import DataError
from perf_culprit.model.series import Panel
from perf_culprit.wire.checked_json import decode_large

PANEL_SCHEMA: Final = "dashboard-v1"
_VALUES_PER_CHUNK: Final = 50_000
_CALLED: Final = 'perfCulprit.chunk("{}",'
_END: Final = ");\n"

Values = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptPanel:
    """`panel` without values, and the chunks that hold them in its order."""

    panel: Panel
    chunks: tuple[str, ...]
    series_per_chunk: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """`program` is the version that built it, `files` all that it wrote."""

    format: Literal["perf-culprit-dashboard"]
    version: Literal[1]
    program: str
    files: tuple[str, ...]
    panels: tuple[KeptPanel, ...]


def chunk_path(name: str) -> str:
    return f"data/{name}.js"


def kept(panel: Panel) -> tuple[KeptPanel, dict[str, bytes]]:
    """What the manifest says of the panel, and its chunks by name."""
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


def restored(entry: KeptPanel, chunks: Sequence[bytes]) -> Panel:
    """The panel with its values; a DataError where a chunk is not what the manifest says."""
    values = list(chain.from_iterable(map(_chunk_values, entry.chunks, chunks)))
    if len(values) != len(entry.panel.series) or any(len(one) != len(entry.panel.runs) for one in values):
        raise DataError("the chunks hold other series than the manifest", place=entry.panel.suite)
    series = [replace(one, values=of_it) for one, of_it in zip(entry.panel.series, values, strict=True)]
    return replace(entry.panel, series=tuple(series))


def _chunk_values(name: str, script: bytes) -> Values:
    data = script.removeprefix(_CALLED.format(name).encode()).removesuffix(_END.encode())
    if hashlib.sha256(data).hexdigest()[:16] != name:
        raise DataError("is not the chunk of that name", place=chunk_path(name))
    return decode_large(Values, data, place=chunk_path(name), what=PANEL_SCHEMA)


def encode_manifest(manifest: Manifest) -> bytes:
    return msgspec.json.encode(manifest) + b"\n"


def decode_manifest(data: bytes, *, place: str) -> Manifest:
    return decode_large(Manifest, data, place=place, what=PANEL_SCHEMA)
