"""What the user wants to run on a commit, and what a command gets to see of our environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.model.count import SIZE, Count

COMMIT_VARIABLE: Final = "PERF_CULPRIT_COMMIT"
OUTPUT_VARIABLE: Final = "PERF_CULPRIT_OUTPUT"

TOKEN_NAMES: Final = ("GITHUB_TOKEN", "GH_TOKEN")
# A commit's code may be a stranger's. It gets no credentials, no inputs of the action, and none of the files by which
# a step tells the runner what the next step finds in its PATH and environment.
WITHHELD_NAMES: Final = frozenset(
    {
        *TOKEN_NAMES,
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
    }
)
# GIT_*: a git hook's variables would send the command's own git calls to another repository, and git's configuration
# by environment can hold a token.
WITHHELD_PREFIXES: Final = ("ACTIONS_", "INPUT_", "STATE_", "GIT_", "PERF_CULPRIT_")
# On GitHub's runners a job may hold secrets under any name, so only what building and running needs is passed on; the
# workflow names what else a command wants to see.
PASSED_NAMES: Final = frozenset(
    {
        *("AGENT_TOOLSDIRECTORY", "ANDROID_HOME", "ANDROID_SDK_ROOT", "AR", "AS", "CARGO_HOME"),
        *("CARGO_TARGET_DIR", "CC", "CFLAGS", "CI", "CLASSPATH", "CONDA", "CONDA_PREFIX", "CPATH", "CPPFLAGS", "CXX"),
        *("CXXFLAGS", "ComSpec", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", "GOARCH", "GOCACHE", "GOFLAGS"),
        *("GOMODCACHE", "GOOS", "GOPATH", "GOROOT", "GOTOOLCHAIN", "GRADLE_HOME", "GRADLE_OPTS"),
        *("GRADLE_USER_HOME", "HOME", "HOSTNAME", "ImageOS", "ImageVersion", "LANG", "LANGUAGE", "LD", "LDFLAGS"),
        *("LD_LIBRARY_PATH", "LIBRARY_PATH", "LOGNAME", "MAKEFLAGS", "MANPATH", "MAVEN_HOME", "MAVEN_OPTS"),
        *("NO_COLOR", "NUMBER_OF_PROCESSORS", "PATH", "PATHEXT", "PKG_CONFIG_PATH", "PWD", "RUNNER_ARCH"),
        *("RUNNER_OS", "RUNNER_TEMP", "RUNNER_TOOL_CACHE", "RUSTFLAGS", "RUSTUP_HOME", "SHELL"),
        *("SOURCE_DATE_EPOCH", "SSL_CERT_DIR", "SSL_CERT_FILE", "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR"),
        *("TZ", "USER", "VCPKG_ROOT", "VIRTUAL_ENV", "WINDIR", "pythonLocation"),
    }
)
PASSED_PREFIXES: Final = (
    *("ANDROID_NDK", "BLIS_", "CMAKE_", "DOTNET_", "GOROOT_", "JAVA_", "LC_", "MKL_", "NVM_", "OMP_", "OPENBLAS_"),
    *("PYTHON", "Python", "XDG_"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Commands:
    """Shell commands (`sh -e`), run in a commit's worktree. A command that takes longer than its limit is ended.

    `environment` names variables of ours that they see, whatever is withheld else. With a `count` (a quantity) the
    result of a run is that of it, not what it writes. `also` are quantities besides.
    """

    run: str
    build: str | None = None
    environment: tuple[str, ...] = ()
    run_timeout_seconds: float = 600.0
    build_timeout_seconds: float = 3600.0
    count: str | None = None
    also: tuple[str, ...] = ()

    @property
    def beside(self) -> tuple[str, ...]:
        """Of `also` what an execution gives by the way; a counted one gives nothing else."""
        is_timed = self.count is None
        return tuple(one for one in self.also if is_timed and (one == Count.PEAK_MEMORY or one.startswith(SIZE)))

    @property
    def apart(self) -> tuple[str, ...]:
        """Of `also` what takes executions, or builds, of its own."""
        return tuple(one for one in self.also if one not in self.beside)


def on_runner(environ: Mapping[str, str]) -> bool:
    """A job of GitHub's runner, where a command may be a stranger's and the environment hold anything."""
    return environ.get("GITHUB_ACTIONS") == "true"


def child_environment(environ: Mapping[str, str], *, named: Sequence[str] = (), **own: str) -> dict[str, str]:
    """`environ` without what a stranger's code must not see, and with `own`; `named` is passed on in any case.

    On a person's machine that is a list of what to withhold, on GitHub's runners one of what to pass on.
    """
    passed = _is_passed if on_runner(environ) else _is_not_withheld
    return {name: value for name, value in environ.items() if name in named or passed(name)} | own


def withheld(environ: Mapping[str, str], *, named: Sequence[str] = ()) -> tuple[str, ...]:
    """The names that a command does not get to see."""
    return tuple(sorted(set(environ) - set(child_environment(environ, named=named))))


def _is_not_withheld(name: str) -> bool:
    return name not in WITHHELD_NAMES and not name.startswith(WITHHELD_PREFIXES)


def _is_passed(name: str) -> bool:
    return _is_not_withheld(name) and (name in PASSED_NAMES or name.startswith(PASSED_PREFIXES))
