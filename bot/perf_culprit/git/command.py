"""One git call through GitPython's command layer: its environment, time limit, token and error message."""

import base64
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from perf_culprit.errors import FREE_SPACE, InfrastructureError, UsageError
from perf_culprit.git.credentials import USER, handed_over, helper_config
from perf_culprit.model.text_limits import TEXT_LIMITS

if TYPE_CHECKING:
    from git.cmd import Git


LOCAL_TIMEOUT_SECONDS = 120.0
NETWORK_TIMEOUT_SECONDS = 600.0

# The name of a Remote in git. It is a name, because git takes no URL as the source of omitted objects. A URL in
# arguments would also be readable by everyone on the machine.
REMOTE_NAME = "perf-culprit"

# A caller such as a git hook exports GIT_DIR, GIT_INDEX_FILE and more, which would redirect our calls to another
# repository. GIT_TRACE_CURL could print the token. So only variables needed for a connection are passed on.
KEPT_VARIABLES = frozenset(
    {
        "GIT_ALLOW_PROTOCOL",
        "GIT_ASKPASS",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_EXEC_PATH",
        "GIT_PROXY_SSL_CAINFO",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
    }
)

# A call with a token ignores the configuration of users and machines, which might set a proxy, another server or no
# encryption. It keeps only the settings that select the trusted certificates.
KEPT_SETTINGS = r"^http\.(sslcainfo|sslcapath|sslbackend|schannelcheckrevoke|schannelusesslcainfo)$"
SETTINGS_OF_SCOPES = ("system", "global")
SETTINGS_NAMED_BY = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")

# Variables of GitPython, which git does not read.
_PYTHON_VARIABLES = ("GIT_PYTHON_REFRESH", "GIT_PYTHON_TRACE", "GIT_PYTHON_GIT_EXECUTABLE")

# The configuration of repositories and users must not run programs here, or add to what is pushed.
QUIET_CONFIG = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("log.showSignature", "false"),
    ("fetch.recurseSubmodules", "false"),
    # A fetched pack stays a pack: unpacking 30 runs of 1 MB compresses them all again.
    ("fetch.unpackLimit", "1"),
    ("push.followTags", "false"),
    ("push.gpgSign", "false"),
    ("push.recurseSubmodules", "no"),
    ("protocol.version", "2"),
)

OTHER_HASHES = ("does not support this repository's hash algorithm", "mismatched algorithms")
IN_A_DATABASE = "a branch of a SHA-256 repository holds no history: keep it in a database (--history sqlite:///FILE)"
NO_REPOSITORY = "not a git repository (or any"
# Git's message -> the user's next step. The first match wins.
NEXT_STEPS = (
    ("dubious ownership", "run as the owner of the repository, or name its top folder exactly as the repository"),
    (NO_REPOSITORY, "go to a clone, or name one with --repo DIR; in a job, check it out first (actions/checkout)"),
    ("does not appear to be a git repository", "check the history's URL, and that the repository exists"),
    ("could not read Username", "give a token that may read and write the repository's contents"),
    ("Authentication failed", "check the token: it is wrong, expired, or not meant for this repository"),
    ("returned error: 403", "give the job `permissions: contents: write`, or a token that may push"),
    ("Repository not found", "check the URL, and that the token may read this repository"),
    ("hook declined", "allow this workflow to push to the branch (branch protection or rulesets refuse it)"),
    ("protected branch", "allow this workflow to push to the branch (branch protection or rulesets refuse it)"),
    ("GH006", "allow this workflow to push to the branch (branch protection or rulesets refuse it)"),
    ("GH013", "allow this workflow to push to the branch (branch protection or rulesets refuse it)"),
    ("Could not resolve host", "check the network and the URL, then run the job again"),
    *((text, IN_A_DATABASE) for text in OTHER_HASHES),
    ("No space left on device", FREE_SPACE),
)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Remote:
    """A repository to fetch from and push to: a URL or a path. The token goes to exactly this URL, by HTTP."""

    url: str
    token: str | None = None

    def __post_init__(self) -> None:
        if not self.url or self.url.startswith("-"):
            raise UsageError(f"{self.url!r} is not the URL of a repository", next_step="give an https URL or a path")

    def __repr__(self) -> str:
        return f"Remote({self.shown!r})"

    @property
    def shown(self) -> str:
        return _without_user_info(self.url)

    @property
    def takes_token(self) -> bool:
        return bool(self.token) and self._address.startswith(("https://", "http://"))

    @property
    def _address(self) -> str:
        is_path = "://" not in self.url and Path(self.url).exists()
        return str(Path(self.url).resolve()) if is_path else self.url

    def config(self, handle: int | None = None) -> tuple[tuple[str, str], ...]:
        """Return the settings of the remote `REMOTE_NAME`: its URL, and its token, at `handle` or else inline.

        The empty header first removes the one that actions/checkout leaves in the repository's configuration. GitHub
        answers 400 to two Authorization headers.
        """
        named = ((f"remote.{REMOTE_NAME}.url", self._address),)
        if not self.takes_token or not self.token:
            return named
        url = _without_user_info(self._address)
        key = f"http.{url}.extraHeader"
        # The repository's own configuration still applies.
        safely = ((f"remote.{REMOTE_NAME}.proxy", _proxy(url)), (f"http.{url}.sslVerify", "true"), (key, ""))
        if handle is not None:
            return (*named, *safely, *helper_config(url, handle))
        return (*named, *safely, (key, f"Authorization: Basic {_basic(self.token)}"))


class GitError(InfrastructureError):
    """A git call failed. `output` is git's output, without secrets; `status` is its exit code, if it ended itself."""

    def __init__(self, command: str, output: str, *, status: int | None = None) -> None:
        message = " | ".join(line.strip() for line in output.splitlines() if line.strip())
        super().__init__(
            "this is not a git repository"
            if NO_REPOSITORY in output
            else f"git {command} failed: {message[-TEXT_LIMITS.output_characters :] or 'git gave no message'}",
            next_step=next((step for text, step in NEXT_STEPS if text in output), "read git's message, then run again"),
        )
        self.output = output
        self.status = status

    @property
    def is_no(self) -> bool:
        """Whether this is git's answer "no" to a question. A git that was killed has not answered."""
        return self.status == 1 and not self.output.strip()


def run_git(
    repository: Path,
    *arguments: str,
    stdin: bytes = b"",
    lines: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
    config: Sequence[tuple[str, str]] = (),
    remote: Remote | None = None,
    timeout_seconds: float | None = None,
) -> bytes:
    """Run `git -C repository arguments...` and return its output; a GitError if it fails or takes too long.

    Its input is `stdin`, or else `lines`.
    """
    input_data = stdin or "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    if timeout_seconds is None:
        timeout_seconds = NETWORK_TIMEOUT_SECONDS if remote else LOCAL_TIMEOUT_SECONDS
    token = remote.token if remote and remote.takes_token else None
    with (
        handed_over(token) as handle,
        _start(
            ["git", "-C", str(repository), *arguments],
            {**_environment(repository, remote, config, handle), **(environment or {})},
            handles=() if handle is None else (handle,),
        ) as process,
    ):
        try:
            output, errors = process.communicate(input_data, timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise GitError(arguments[0], f"no answer within {timeout_seconds:g} s") from None
        except BaseException:
            _kill(process)
            raise
    if process.returncode != 0:
        message = (errors + b"\n" + output if arguments[0] == "push" else errors).decode(errors="replace")
        raise GitError(arguments[0], _redact(message, remote), status=process.returncode)
    return output


def _start(
    command: Sequence[str], environment: Mapping[str, str], *, handles: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start git in its own process group, so that a kill also reaches its helpers, which hold the pipes open."""
    layer, not_found = _command_layer()
    # GitPython adds to our own environment; `env` removes the variables that must not reach git.
    names_to_keep = (*environment, *_PYTHON_VARIABLES)
    unwanted = [name for name in os.environ if name.startswith("GIT_") and name not in names_to_keep]
    try:
        started = layer.execute(
            [*("env" for _ in unwanted[:1]), *chain.from_iterable(("-u", name) for name in unwanted), *command],
            as_process=True,
            istream=subprocess.PIPE,
            env=environment,
            shell=False,
            process_group=0,
            pass_fds=handles,
        )
    except not_found:
        raise InfrastructureError("git is not installed", next_step="install git 2.30 or newer") from None
    process = started.proc
    # The wrapper would end the process together with itself, before its output is read.
    started.proc = None
    return cast("subprocess.Popen[bytes]", process)


@cache
def _command_layer() -> tuple["Git", type[Exception]]:
    # GitPython looks for git during its import, and without git would refuse the import; our message is more helpful.
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    from git.cmd import Git
    from git.exc import GitCommandNotFound

    return Git(), GitCommandNotFound


def _kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _environment(
    repository: Path, remote: Remote | None, config: Sequence[tuple[str, str]], handle: int | None
) -> dict[str, str]:
    """The environment of a git call. Configuration in it is neither stored nor visible in process arguments.

    `safe.directory` is only the given folder, not a repository found above it. In a container the workspace belongs to
    another user, and naming the folder is the consent.
    """
    count = int(text) if (text := os.environ.get("GIT_CONFIG_COUNT", "0")).isdecimal() else 0
    configured = {f"GIT_CONFIG_{kind}_{index}" for kind in ("KEY", "VALUE") for index in range(count)}
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in KEPT_VARIABLES or name in configured
    }
    if "REQUESTS_CA_BUNDLE" in os.environ:
        # One setting for a custom certificate authority: git trusts the same authorities as the API.
        environment.setdefault("GIT_SSL_CAINFO", os.environ["REQUESTS_CA_BUNDLE"])
    safe = ("safe.directory", str(repository.resolve()))
    pairs = [safe, *QUIET_CONFIG, *config, *(remote.config(handle) if remote else ())]
    if remote and remote.takes_token:
        pairs = [*_read_settings(tuple(os.environ.get(name) for name in SETTINGS_NAMED_BY)), *pairs]
        environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for index, (key, value) in enumerate(pairs, start=count):
        environment[f"GIT_CONFIG_KEY_{index}"] = key
        environment[f"GIT_CONFIG_VALUE_{index}"] = value
    return environment | {
        "GIT_CONFIG_COUNT": str(count + len(pairs)),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }


def _proxy(url: str) -> str:
    """The proxy from the environment, by curl's rules; empty for none. Python's own function loads an HTTP client."""

    def variable(name: str) -> str:
        return os.environ.get(name, "") or os.environ.get(name.upper(), "")

    place = urlsplit(url)
    direct = [name.strip().lstrip(".") for name in variable("no_proxy").split(",")]
    if any(name and (name == "*" or f".{place.hostname}".endswith(f".{name}")) for name in direct):
        return ""
    return variable(f"{place.scheme}_proxy") or variable("all_proxy")


@cache
def _read_settings(_: tuple[str | None, ...]) -> tuple[tuple[str, str], ...]:
    try:
        output = run_git(Path("/"), "config", "--null", "--show-scope", "--get-regexp", KEPT_SETTINGS)
    except GitError:  # there are none
        return ()
    fields = output.decode(errors="surrogateescape").split("\0")
    settings = (
        setting.partition("\n")[::2]
        for scope, setting in zip(fields[::2], fields[1::2], strict=False)
        if scope in SETTINGS_OF_SCOPES
    )
    return tuple(settings)


def _redact(text: str, remote: Remote | None) -> str:
    if remote and remote.token:
        text = text.replace(_basic(remote.token), "***").replace(remote.token, "***")
    return _without_user_info(text)


def _basic(token: str) -> str:
    return base64.b64encode(f"{USER}:{token}".encode()).decode()


def _without_user_info(text: str) -> str:
    return re.sub(r"(?<=://)[^/@\s]{1,512}@", "", text)
