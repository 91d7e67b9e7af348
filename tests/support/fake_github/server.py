"""The server: authenticates, checks, injects faults, and records every request and every violation."""

import contextlib
import json
import threading
import time
import urllib.parse
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.support.fake_github import description, git_http, permissions
from tests.support.fake_github.call import Answer, ApiError, Call
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.operations import OPERATIONS
from tests.support.fake_github.pages import Listing, cut_page
from tests.support.fake_github.shapes import Shapes
from tests.support.fake_github.state import BOT, State

STORE_PATH = "/artifact-store"
BOT_TOKEN = "bot-token"


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    method: str
    path: str  # below the API's prefix
    query: dict[str, str]
    headers: dict[str, str]  # lower case
    body: Any
    raw: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One request to the API and the status of its answer (None if the connection was dropped)."""

    request: Request
    status: int | None

    def __str__(self) -> str:
        return f"{self.request.method} {self.request.path} -> {self.status}"


class FakeGitHub:
    """Start with `with FakeGitHub() as fake`; end every test with `assert not fake.bad`.

    `prefix` is "/api/v3" on GitHub Enterprise Server. `git_dir` is a bare repository for git over HTTP and git data.
    """

    def __init__(self, *, git_dir: Path | None = None, repository: str = "octocat/hello", prefix: str = "") -> None:
        self.git_dir = git_dir
        self.repository = repository
        self.prefix = prefix
        self.state = State()
        self.tokens: dict[str, tuple[str, dict[str, str]]] = {BOT_TOKEN: (BOT, permissions.ALL_PERMISSIONS)}
        self.faults: list[Fault] = []
        self.git_faults: list[Fault] = []
        self.log: list[Exchange] = []
        self.git_log: list[str] = []
        self.git_answers_due = 0
        self.bad: list[str] = []
        self.lock = threading.RLock()
        self.description = description.load()
        self.server = Server(self)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.api_url = self.url + prefix
        # Another host name, as GitHub's own artifact store has: credentials must not follow.
        self.store_url = f"http://localhost:{self.server.server_port}{STORE_PATH}"
        self.shapes = Shapes(description=self.description, api_url=self.api_url, repository=repository)

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def add_token(self, token: str, granted: dict[str, str], *, login: str = BOT) -> str:
        """Add a token with these permissions, spelled as in a workflow: {"pull-requests": "write"}."""
        self.tokens[token] = (login, granted)
        return token

    def requests(self, method: str) -> list[Request]:
        return [exchange.request for exchange in self.log if exchange.request.method == method]

    def answer(self, request: Request) -> Answer | None:
        """Answer a request; None drops the connection."""
        if request.path.startswith(STORE_PATH):
            return self.store_answer(request)
        is_git = request.path.startswith(f"/{self.repository}.git/")
        fault = self.next_fault(request, self.git_faults if is_git else self.faults)
        if fault and not fault.applied:
            time.sleep(fault.delay_seconds)
        answer = self.logged_git_answer(request, fault) if is_git else self.logged_answer(request, fault)
        if fault and fault.applied:
            time.sleep(fault.delay_seconds)
        return answer

    def logged_answer(self, request: Request, fault: Fault | None) -> Answer | None:
        with self.lock:
            answer = self.api_answer(request) if fault is None or fault.applied or not breaks(fault) else None
            if fault and breaks(fault):
                answer = failed(fault)
            self.log.append(Exchange(request=request, status=answer.status if answer else None))
            return answer

    def logged_git_answer(self, request: Request, fault: Fault | None) -> Answer | None:
        self.git_log.append(named(request))
        if fault and breaks(fault) and not fault.applied:
            return failed(fault)
        with self.lock:
            self.git_answers_due += 1
        try:
            answer = self.git_answer(request)
        finally:
            with self.lock:
                self.git_answers_due -= 1
        return failed(fault) if fault and breaks(fault) else answer

    def wait_for_git(self) -> None:
        """Wait until git's pending answers are done: the server completes requests that a client gave up."""
        while self.git_answers_due:
            time.sleep(0.01)

    def next_fault(self, request: Request, faults: list[Fault]) -> Fault | None:
        with self.lock:
            for fault in faults:
                if not fault.matches(*named(request).split(" ", 1)):
                    continue
                if not fault.spared:
                    fault.times -= 1
                    return fault
                fault.spared -= 1
        return None

    def api_answer(self, request: Request) -> Answer:
        try:
            return self.checked_answer(request)
        except ApiError as error:
            return Answer(error.status, error.body, error.headers)

    def checked_answer(self, request: Request) -> Answer:
        token = request.headers.get("authorization", "").rpartition(" ")[2]
        if token not in self.tokens:
            raise ApiError(401, "Bad credentials")
        login, granted = self.tokens[token]
        if request.path == "/graphql":
            return self.graphql_answer(request)
        match = self.description.find(request.method, request.path)
        if match is None:
            self.report(request, ["no such operation in the description"])
            raise ApiError(404, "Not Found")
        mistakes = self.description.request_mistakes(match, query=request.query, body=request.body)
        if mistakes:
            self.report(request, mistakes)
            raise ApiError(422, "Validation Failed", errors=[{"message": mistake} for mistake in mistakes])
        if f"{match.path_values['owner']}/{match.path_values['repo']}" != self.repository:
            raise ApiError(404, "Not Found")
        accepted = permissions.accepted_permissions(request.method, match.operation.template)
        if not permissions.allowed(granted, accepted):
            header = {"x-accepted-github-permissions": permissions.header(accepted)}
            raise ApiError(403, "Resource not accessible by integration", headers=header)
        call = Call(
            state=self.state,
            shapes=self.shapes,
            git_dir=self.git_dir,
            store_url=self.store_url,
            login=login,
            path=match.path_values,
            query=request.query,
            body=request.body,
        )
        answer = OPERATIONS[match.operation.id](call)
        if isinstance(answer.body, Listing):
            body, links = cut_page(answer.body, url=self.api_url + request.path, query=request.query)
            answer = Answer(answer.status, body, links)
        wrong = self.description.response_mistakes(match.operation, status=answer.status, body=answer.body)
        if wrong:
            self.report(request, [f"the fake's own answer: {mistake}" for mistake in wrong])
        return answer

    def report(self, request: Request, mistakes: list[str]) -> None:
        self.bad += [f"{request.method} {request.path}: {mistake}" for mistake in mistakes]

    def graphql_answer(self, request: Request) -> Answer:
        """Answer `minimizeComment`, the only operation that REST lacks."""
        if "minimizeComment" not in request.body.get("query", ""):
            self.report(request, ["a GraphQL request other than minimizeComment"])
            raise ApiError(400, "Bad Request")
        subject = request.body["variables"]["input"]["subjectId"]
        comment = self.state.comments.get(int(subject.removeprefix("IC_")))
        if comment is None:
            return Answer(200, {"errors": [{"type": "NOT_FOUND", "message": "Could not resolve to a node"}]})
        comment.minimized = True
        minimized = {"clientMutationId": None, "minimizedComment": {"isMinimized": True}}
        return Answer(200, {"data": {"minimizeComment": minimized}})

    def store_answer(self, request: Request) -> Answer:
        if "authorization" in request.headers:
            self.report(request, ["credentials were sent to the artifact store"])
            return Answer(403, {"message": "AuthenticationFailed"})
        artifact = self.state.artifacts[int(request.path.removeprefix(STORE_PATH).split("/")[1])]
        headers = {"content-type": "application/zip"} | artifact.store_headers
        return Answer(artifact.store_status, artifact.zip_bytes, headers)

    def git_answer(self, request: Request) -> Answer:
        git_request = git_http.GitRequest(
            method=request.method,
            path=request.path.removeprefix(f"/{self.repository}.git"),
            query=urllib.parse.urlencode(request.query),
            headers=request.headers,
            body=request.raw,
        )
        if self.git_dir is None or git_request.token not in self.tokens:
            return Answer(401, {"message": "auth"}, {"www-authenticate": 'Basic realm="GitHub"'})
        _, granted = self.tokens[git_request.token]
        if git_request.is_push and granted.get("contents") != "write":
            return Answer(403, {"message": "Permission to the repository denied"})
        status, headers, body = git_http.answer(git_request, self.git_dir)
        return Answer(status, body, headers)


def named(request: Request) -> str:
    """Return method and path, for git with the service, which distinguishes a fetch from a push."""
    service = request.query.get("service")
    return f"{request.method} {request.path}" + (f"?service={service}" if service else "")


def breaks(fault: Fault) -> bool:
    return fault.drop or fault.status is not None


def failed(fault: Fault) -> Answer | None:
    if fault.status is None:
        return None
    return Answer(fault.status, {"message": fault.message} if fault.body is None else fault.body, fault.headers)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, fake: FakeGitHub) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fake = fake


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # Buffered writes and no Nagle: otherwise delayed ACKs cost 40 ms per call.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class chose the name
        """Keep pytest's output quiet."""

    def handle(self) -> None:
        # A client that gave up (its timeout passed) is part of the tests.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def handle_any(self) -> None:
        self.write(self.server.fake.answer(self.read_request()))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - http.server's naming

    def read_request(self) -> Request:
        url = urllib.parse.urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        raw = self.read_body(headers)
        is_json = headers.get("content-type", "").startswith("application/json")
        path = "/graphql" if url.path == "/api/graphql" else url.path.removeprefix(self.server.fake.prefix)
        return Request(
            method=self.command,
            path=path,
            query=dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)),
            headers=headers,
            body=json.loads(raw) if raw and is_json else None,
            raw=raw,
        )

    def read_body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def write(self, answer: Answer | None) -> None:
        if answer is None:
            self.close_connection = True
            return
        body = answer.body
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response(answer.status)
        for name, value in (rate_headers() | answer.headers).items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("content-length", str(len(data)))
        self.end_headers()
        if answer.status != 204:
            self.wfile.write(data)
        self.wfile.flush()


def rate_headers() -> dict[str, str]:
    return {
        "content-type": "application/json; charset=utf-8",
        "x-ratelimit-limit": "1000",
        "x-ratelimit-remaining": "990",
        "x-ratelimit-used": "10",
        "x-ratelimit-reset": str(int(time.time()) + 3600),
        "x-ratelimit-resource": "core",
    }
