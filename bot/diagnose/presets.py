"""Line patterns that come with the program, each with a line that it reads (docs/diagnosis.md shows them)."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """`expression` begins with `^`, has all groups, and no line feed fits it; None where a line is a JSON object."""

    expression: bytes | None
    example: str


# Possessive repeats: a line that does not fit is given up at once, however it was made.
PRESETS: Final[dict[str, Preset]] = {
    "labelled": Preset(
        expression=(
            rb"^(?P<time>\S++ \S++) \[(?P<thread>[^\]\n]*+)\] service=(?P<service>\S++) call=(?P<call>\S++) "
            rb"(?P<label>[0-9.]++) (?P<method>\S++) (?P<elapsed_ms>-?+[0-9.]++) ?ms\b"
        ),
        example=(
            "2026-03-01 09:15:02.117 [exec-7] service=placeOrder call=c81f02 1.1.2.1 com.acme.OrderDao.find 12.345 ms"
        ),
    ),
    "spring": Preset(
        expression=(
            rb"^(?P<time>[0-9]\S++(?: [0-9]\S++)?+) ++[A-Z]++ ++[0-9]++ --- \[ *+(?P<service>[^\]\n]*+)\] "
            rb"\[ *+(?P<thread>[^\]\n]*+)\] \[(?P<call>[^\]\n-]++)[^\]\n]*+\] ++\S++ *+: "
            rb"(?P<label>[0-9.]++) (?P<method>\S++) (?P<elapsed_ms>-?+[0-9.]++) ?ms\b"
        ),
        example=(
            "2026-03-01T09:15:02.117Z  INFO 4711 --- [orders] [nio-8080-exec-7] [65f1c0a2b3d4-7d1e] "
            "c.acme.CallTimer : 1.1.2.1 OrderDao.find 12.345 ms"
        ),
    ),
    "json": Preset(
        expression=None,
        example=(
            '{"time": "2026-03-01T09:15:02.117Z", "service": "placeOrder", "call": "c81f02", "label": "1.1.2.1", '
            '"method": "com.acme.OrderDao.find", "elapsed_ms": 12.345, "thread": "exec-7"}'
        ),
    ),
}
