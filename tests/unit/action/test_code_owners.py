"""CODEOWNERS as GitHub reads it; the cases are those of its documentation."""

import pytest

from perf_culprit.action.jobs.code_owners import code_owners

DOCUMENTED = """
# A comment.
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go docs@example.com @octo-org/gophers
/build/logs/ @doctocat
docs/* @docs
apps/ @octocat
/scripts/ @doctocat @octocat
**/logs @logs
/apps/github
/a/**/z @deep
src/my\\ file.py @space
!negated @nobody
[ab].py @nobody
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("@global-owner1", "@global-owner2")),
        ("src/deep/app.js", ("@js-owner",)),
        ("cmd/main.go", ("@octo-org/gophers",)),
        ("docs/index.md", ("@docs",)),
        ("docs/build/index.md", ("@global-owner1", "@global-owner2")),
        ("apps/x.py", ("@octocat",)),
        ("src/apps/deep/x.py", ("@octocat",)),
        ("apps/github/x.py", ()),
        ("src/apps/github/x.py", ("@octocat",)),
        ("scripts/run", ("@doctocat", "@octocat")),
        ("src/scripts/run", ("@global-owner1", "@global-owner2")),
        ("build/logs/a.txt", ("@logs",)),
        ("deep/down/logs", ("@logs",)),
        ("a/z", ("@deep",)),
        ("a/b/c/z", ("@deep",)),
        ("src/my file.py", ("@space",)),
        ("src/myfile.py", ("@global-owner1", "@global-owner2")),
        ("negated", ("@global-owner1", "@global-owner2")),
        ("a.py", ("@global-owner1", "@global-owner2")),
    ],
)
def test_the_last_match_wins(path: str, owners: tuple[str, ...]) -> None:
    assert code_owners(DOCUMENTED, path) == owners


def test_without_a_match_nobody_owns_it() -> None:
    assert code_owners("/docs/ @docs\n", "src/a.py") == ()
    assert code_owners("", "a.py") == ()
    assert code_owners("* @-not/a/name\n", "a.py") == ()
