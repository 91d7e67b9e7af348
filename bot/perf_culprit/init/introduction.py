"""Messages of `init`: its suggestions, the import of a history, and the text of the pull request with the files."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from perf_culprit.init.repository import Repository, Suggestion, look
from perf_culprit.init.workflow_check import PINNED
from perf_culprit.init.workflow_files import Choice
from perf_culprit.model.text_limits import TEXT_LIMITS

# Values of `--from`, and the tool names of their suggestions.
KNOWN_BY: Final = {
    "gab": "github-action-benchmark",
    "codspeed": "CodSpeed",
    "bencher": "Bencher",
    "asv": "asv",
}
FIRST_RUN: Final = (
    "The first pull request measures its base and its head in turn and reports the result. "
    "The first push to the default branch begins the history (branch perf-history)."
)
FORKS: Final = (
    "Pull requests from forks get their report in the job summary; --split writes files that comment there too."
)

DRAFT: Final = (
    "Open a draft pull request with this file. Its job tries the proposals on the runner.",
    "A comment says what it found, and what a pull request costs. The files that it wrote are in its artifact.",
    "Commit them, and delete perf-try.yml:",
    '   git switch --create perf-culprit && git add .github && git commit --message "Try perf-culprit"',
    "   git push --set-upstream origin perf-culprit && gh pr create --draft --fill",
)


def foreign_steps(choices: Sequence[Choice]) -> Iterator[str]:
    """Explain what became of the existing job's steps: code of others, which must not run in a job that may write."""
    used = {str(step["uses"]): choice.has_own_job for choice in choices for step in choice.steps}
    if names := ", ".join(uses for uses, is_kept in used.items() if is_kept):
        yield f"These steps are not ours: {names}. They run in the job `measure`, whose token is read-only."
        if choices[0].split:
            yield "The job `bisect` does not have them: let `setup` in perf-bisect.yml install what they do."
    if names := ", ".join(uses for uses, is_kept in used.items() if not is_kept):
        yield f"Left out, because parts are measured by a called workflow: {names}. Let `setup` install what they do."
    pinned = (uses.startswith("./") or PINNED.fullmatch(uses.partition("@")[2]) for uses in used)
    if names := ", ".join(uses for uses, is_pinned in zip(used, pinned, strict=True) if not is_pinned):
        yield f"Pin them, so that nobody can replace them: name the commit, in full, of {names}."


def comes_from(suggestion: Suggestion, origin: str) -> bool:
    return suggestion.tool == KNOWN_BY[origin]


def shown_suggestions(suggestions: Sequence[Suggestion], chosen: Sequence[Suggestion]) -> Iterator[str]:
    """Show the suggestions with their places, and the notes of the chosen ones."""
    yield f"found: {', '.join(each.tool for each in suggestions)}"
    for number, each in enumerate(suggestions[: TEXT_LIMITS.suggestions], 1):
        if each.place:
            yield f"{'->' if each in chosen else '  '} {number}. {each.tool}: {each.place}"
    yield from (f"   note: {note}" for each in chosen for note in each.notes)
    if len(chosen) > 1:
        yield "   two suites, a job each; --pick N takes one alone"
    elif len(suggestions) > 1:
        yield "   another of them: --pick N"


def proposed_suite_names(chosen: Sequence[Suggestion]) -> list[str]:
    """Names for several suites: the workflow's file, else the job, else the step. A single suite has no name."""
    if len(chosen) < 2:
        return [""]
    parts = [re.findall(r"([\w.-]+)\.ya?ml|, (?:job|step) ([^,(]+)", each.place) for each in chosen]
    slugs = [[re.sub(r"\W+", "-", "".join(part)).strip("-").lower() for part in one] for one in parts]
    each_way = zip(*slugs, strict=False)
    different = next((way for way in each_way if len(set(way)) == len(way) and all(way)), None)
    return list(different or (f"suite-{number}" for number in range(1, len(chosen) + 1)))


def history_step(origin: str, root: Path) -> str:
    """Explain how to import the history of the other tool."""
    repository = look(root)
    if origin == "gab":
        folder = _workflow_value(repository, "benchmark-data-dir-path") or "dev/bench"
        branch = _workflow_value(repository, "gh-pages-branch") or "gh-pages"
        return (
            f"Its history: git fetch origin {branch} && git show FETCH_HEAD:{folder}/data.js > data.js "
            "&& perf-culprit import data.js"
        )
    if origin == "asv":
        return "Its history: perf-culprit import RESULTS_DIR (`results_dir` of asv.conf.json)"
    if origin == "bencher":
        return "Its history: bencher report list PROJECT --expand > reports.json && perf-culprit import reports.json"
    return (
        "Its history stays there: CodSpeed writes no file of it. perf-culprit init --backfill REV measures old commits."
    )


def _workflow_value(repository: Repository, name: str) -> str:
    pattern = re.compile(rf"\b{name}:\s*['\"]?([\w./-]+)", re.MULTILINE)
    texts = (repository.read(file) for file in repository.matching(re.compile(r"^\.github/workflows/")))
    return next((match[1] for text in texts if (match := pattern.search(text))), "")


def pull_request_text(choices: Sequence[Choice], notes: Sequence[str]) -> str:
    """Return the title, an empty line, and the text."""
    commands = "".join(
        f"    {line}\n"
        for choice in choices
        for text in (choice.setup, choice.build, choice.run)
        for line in text.splitlines()
    )
    about = "".join(f"- {note}\n" for note in notes)
    return (
        "Measure performance in every pull request\n\n"
        "perf-culprit measures the base and the head of a pull request in turn on one machine. One comment says what "
        "got slower or faster, and how sure that is. After a push to the default branch it keeps the results.\n\n"
        f"Each commit is prepared and measured by:\n\n{commands}\n"
        + (f"To know:\n\n{about}\n" if about else "")
        + "Nothing that is there is changed: existing benchmark workflows run until you delete them."
    )
