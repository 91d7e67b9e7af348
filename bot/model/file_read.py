"""What `collect` made of one file: for the user, who should see what was read and what was not."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRead:
    """`format` is the reader's id; `samples` are those of all `metrics`; `notes` say what was left out and why."""

    place: str
    format: str
    benchmarks: int
    metrics: int
    samples: int
    tables: int
    notes: tuple[str, ...] = ()
