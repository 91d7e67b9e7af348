"""The job summary: a file that the runner shows on the run's page."""

from pathlib import Path

from bot.publish.outputs import writing

# Over this the runner drops the whole summary of the step.
MAXIMUM_BYTES = 1 << 20
CUT_POINTER = "\n\nCut here: a job summary holds 1 MiB. The whole report is in `report.json`.\n"


def append_summary(text: str, *, path: Path) -> None:
    """Appends Markdown to the file at GITHUB_STEP_SUMMARY, cut at a line to what still fits into it."""
    with writing("the job summary", path=path, variable="GITHUB_STEP_SUMMARY"):
        room_bytes = MAXIMUM_BYTES - (path.stat().st_size if path.exists() else 0)
        data = f"{cut_to_bytes(text, limit_bytes=room_bytes - 1)}\n".encode()
        if len(data) <= room_bytes:
            with path.open("ab") as file:
                file.write(data)


def cut_to_bytes(text: str, *, limit_bytes: int) -> str:
    """Lines of `text` that fit as UTF-8. Lone surrogates, which UTF-8 cannot hold, become `?`."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return data.decode()
    kept = data[: max(0, limit_bytes - len(CUT_POINTER.encode()))].decode("utf-8", "ignore")
    end = kept.rfind("\n")
    return (kept[:end] if end > 0 else kept) + CUT_POINTER
