"""Facts about candidates that git gives before anything is measured."""

from pathlib import Path

import pytest

from perf_culprit.dispatch.commit_range import Prior, change_facts, dependency_updates, find_candidates, prior_of
from perf_culprit.model.bisection import ChangeFacts, ExecutedCode
from perf_culprit.model.run import EnvironmentChange
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.processes import counted_processes


def write(repository: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(content)
    run_git(repository, "add", "--all")
    run_git(repository, "commit", "--quiet", "--allow-empty", "--message=change")
    return run_git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "repository")


def facts_of(repository: Path, good: str, *, first_parent: bool = False) -> dict[str, ChangeFacts]:
    candidates = find_candidates(repository, good=good, bad="HEAD", first_parent=first_parent)
    return change_facts(repository, candidates.commit_range)


def test_each_kind_of_change(repository: Path) -> None:
    good = write(repository, {"a.py": "x = 1\n" * 20, "b.bin": "a"})
    code = write(repository, {"a.py": "x = 1\n" * 19 + "y = 2\nz = 3\n", "docs/a.rst": "text\n"})
    documents = write(repository, {"README.md": "a\n", "tests/test_a.py": "b\n", "src/a_test.go": "c\n"})
    build = write(repository, {"requirements.txt": "numpy\n"})
    run_git(repository, "mv", "a.py", "c.py")
    renamed = write(repository, {})
    binary = write(repository, {"b.bin": "a\0b"})
    empty = write(repository, {})
    odd = write(repository, {"tab\tand\nline.py": "x\n"})
    assert facts_of(repository, good) == {
        code: ChangeFacts(churn=3),
        documents: ChangeFacts(only_documents=True),
        build: ChangeFacts(churn=1, changes_dependency=True),
        renamed: ChangeFacts(),
        binary: ChangeFacts(),
        empty: ChangeFacts(),
        odd: ChangeFacts(churn=1),
    }


SHOP = """\
RATE = {rate}

def price():
    return {price}

class Cart:
    size = {size}

    def total(self):
        return {total}
"""
EXECUTED = {("shop.py", "<module>"), ("shop.py", "price"), ("shop.py", "Cart"), ("tests/bench.py", "work")}


def shop(**values: object) -> str:
    return SHOP.format(**{"rate": 1, "price": 1, "size": 1, "total": 1, **values})


def test_what_each_commit_changes_of_the_executed_code(repository: Path) -> None:
    good = write(repository, {"shop.py": shop(), "other.py": "x = 1\n", "tests/bench.py": "def work():\n    pass\n"})
    expected = {
        write(repository, {"shop.py": shop(price=2)}): (ExecutedCode("shop.py", "price"),),
        write(repository, {"shop.py": shop(price=2, rate=2)}): (ExecutedCode("shop.py"),),
        write(repository, {"shop.py": shop(price=3, rate=3)}): (ExecutedCode("shop.py", "price"),),
        write(repository, {"shop.py": shop(price=3, rate=3, size=2)}): (ExecutedCode("shop.py"),),
        # The changed code is not executed, or the change contains no code.
        write(repository, {"shop.py": shop(price=3, rate=3, size=2, total=2)}): (),
        write(repository, {"shop.py": "# Prices.\n" + shop(price=3, rate=3, size=2, total=2)}): (),
        write(repository, {"other.py": "x = 2\n"}): (),
        write(repository, {"README.md": "a\n"}): (),
        # The program may read a file of another kind, whatever its name.
        write(repository, {"other.py": "x = 3\n", "data.json": "{}"}): None,
        write(
            repository,
            {"tests/bench.py": "def work():\n    return 1\n", "shop.py": shop(price=3, rate=4, size=2, total=2)},
        ): (
            ExecutedCode("tests/bench.py", "work"),
            ExecutedCode("shop.py"),
        ),
        write(repository, {"shop.py": "def price(:\n"}): (ExecutedCode("shop.py"),),
    }
    commit_range = find_candidates(repository, good=good, bad="HEAD").commit_range
    with counted_processes() as started:
        facts = change_facts(repository, commit_range, EXECUTED)
    assert {commit: one.executed for commit, one in facts.items()} == expected
    assert len(started) == 4
    documents = [commit for commit, one in facts.items() if one.only_documents]
    assert documents == [list(expected)[7]]  # the benchmark is among the tests and is run
    assert all(one.executed is None for one in change_facts(repository, commit_range).values())


def test_a_merge_changes_nothing_by_itself_and_a_file_that_moved_is_the_same(repository: Path) -> None:
    good, merge = merged(repository, main="one\n", side="two\n", result="both\n")
    run_git(repository, "mv", "a.py", "b.py")
    moved = write(repository, {"b.py": "def price():\n    return 2\n"})
    run_git(repository, "mv", "b.py", "c.py")
    renamed = write(repository, {})
    commit_range = find_candidates(repository, good=good, bad="HEAD").commit_range
    facts = change_facts(repository, commit_range, {("c.py", "price"), ("c.py", "<module>")})
    assert facts[merge].executed is None
    assert facts[renamed].executed == ()
    assert facts[moved].executed == ()  # under a name that exists at neither end


def merged(repository: Path, *, main: str, side: str, result: str | None) -> tuple[str, str]:
    good = write(repository, {"a.py": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"})
    run_git(repository, "checkout", "--quiet", "-b", "side")
    write(repository, {"a.py": side})
    run_git(repository, "checkout", "--quiet", "main")
    write(repository, {"a.py": main})
    if result is None:
        run_git(repository, "merge", "--quiet", "--no-edit", "side")
    else:
        run_git(repository, "merge", "--quiet", "--no-edit", "-s", "ours", "--no-commit", "side")
        write(repository, {"a.py": result})
    return good, run_git(repository, "rev-parse", "HEAD")


def test_a_merge_whose_sides_met_without_conflict_is_clean(repository: Path) -> None:
    good, merge = merged(
        repository, main="one\n2\n3\n4\n5\n6\n7\n8\n9\n", side="1\n2\n3\n4\n5\n6\n7\n8\nnine\n", result=None
    )
    assert facts_of(repository, good)[merge] == ChangeFacts(clean_merge=True)
    assert facts_of(repository, good, first_parent=True)[merge] == ChangeFacts(churn=2)


def test_a_merge_with_lines_of_its_own_is_not(repository: Path) -> None:
    rest = "2\n3\n4\n5\n6\n7\n8\n9\n"
    good, merge = merged(repository, main="one\n" + rest, side="uno\n" + rest, result="both\n" + rest)
    facts = facts_of(repository, good)[merge]
    assert not facts.clean_merge
    assert facts.churn > 0


def test_the_prior_follows_the_changes_or_is_uniform(repository: Path) -> None:
    good = write(repository, {"a.py": "x\n"})
    code = write(repository, {"a.py": "y\n"})
    documents = write(repository, {"README.md": "a\n"})
    commit_range = find_candidates(repository, good=good, bad="HEAD").commit_range
    prior = prior_of(repository, commit_range, Prior.CHANGES)
    assert prior is not None
    assert prior[code] > 0.9
    assert 0.05 < prior[documents] < 0.1
    assert prior_of(repository, commit_range, Prior.UNIFORM) is None


def test_many_commits_are_two_calls(repository: Path) -> None:
    hashes = import_commits(repository, chain("c", 513))
    commit_range = find_candidates(repository, good=hashes["c1"], bad=hashes["c513"]).commit_range
    with counted_processes() as started:
        facts = change_facts(repository, commit_range)
    assert len(started) == 2
    assert len(facts) == 512
    assert all(one == ChangeFacts(only_documents=True) for one in facts.values())


def test_a_commit_that_updates_a_dependency_says_which(repository: Path) -> None:
    good = write(repository, {"requirements.txt": "numpy==2.4.5\nattrs==1\n", "web/package-lock.json": "{}"})
    write(repository, {"a.py": "x = 1\n"})
    update = write(repository, {"requirements.txt": "numpy==2.4.6\nattrs==1\nnew==1\n"})
    write(repository, {"web/package-lock.json": "[broken"})
    candidates = find_candidates(repository, good=good, bad="HEAD")
    change = EnvironmentChange(name="pip:numpy", before="2.4.5", after="2.4.6")
    assert dependency_updates(repository, candidates.commit_range) == {update: (change,)}
