"""Debian's Chromium on a page, by the DevTools protocol over a pipe: clicks, keys, pictures, and what went wrong."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

PROGRAM: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LACKING: Final = "Chromium is not installed (apt-get install chromium)"
OPTIONS: Final = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    "--remote-debugging-pipe",
)
# Chromium reads commands from descriptor 3 and answers on 4.
LAUNCH: Final = (
    "import os, sys; first, second = (os.dup(int(one)) for one in sys.argv[1:3]); "
    "os.dup2(first, 3); os.dup2(second, 4); os.set_inheritable(3, True); os.set_inheritable(4, True); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
_KEYS: Final = {"Enter": (13, "\r"), "Tab": (9, ""), "ArrowDown": (40, ""), "ArrowUp": (38, ""), "Escape": (27, "")}


class Page:
    """One tab. `problems` holds script errors and violations of the content security policy."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._number, self._session, self._left = 0, "", b""
        self.problems: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(
            self._out, json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0"
        )
        while (answer := self._next()).get("id") != self._number:
            pass
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, file: Path, *, scheme: str = "light", width: int = 1200) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=file.absolute().as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression: str) -> Any:
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in reply:
            raise AssertionError(reply["exceptionDetails"]["exception"]["description"])
        return reply["result"].get("value")

    def press(self, key: str) -> None:
        code, text = _KEYS[key]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)

    def click(self, selector: str) -> None:
        box = self.value(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView();"
            " const box = one.getBoundingClientRect(); return [box.x + 5, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def names(self, role: str) -> list[str]:
        """Return the accessible names of all elements with that role, as a screen reader announces them."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [node["name"]["value"] for node in nodes if not node["ignored"] and node["role"]["value"] == role]

    def picture(self, file: Path) -> None:
        """Save a screenshot of the whole page at its current width."""
        width, height = self.value("[innerWidth, document.documentElement.offsetHeight]")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        reply = self.call("Page.captureScreenshot")
        file.write_bytes(base64.b64decode(reply["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            part = os.read(self._in, 1 << 20)
            assert part, "Chromium ended"
            self._left += part
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.problems.append(json.dumps(message["params"])[:500])
        return message


@contextmanager
def open_page() -> Iterator[Page]:
    assert PROGRAM is not None, LACKING
    (child_in, to_browser), (from_browser, child_out) = os.pipe(), os.pipe()

    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [PROGRAM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        browser = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(child_in), str(child_out), *command],
            pass_fds=(child_in, child_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(child_in)
        os.close(child_out)
        try:
            yield Page(to_browser, from_browser)
        finally:
            browser.kill()
            browser.wait()
            os.close(to_browser)
            os.close(from_browser)
