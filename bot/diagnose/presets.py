"""Line patterns that come with the program (docs/diagnosis.md shows a line of each)."""

from typing import Final

# Each begins with `^`, has all groups, and no line feed fits it; None where a line is a JSON object.
# Possessive repeats: a line that does not fit is given up at once, however it was made.
PRESETS: Final[dict[str, bytes | None]] = {
    "labelled": (
        rb"^(?P<time>\S++ \S++) \[(?P<thread>[^\]\n]*+)\] service=(?P<service>\S++) call=(?P<call>\S++) "
        rb"(?P<label>[0-9.]++) (?P<method>\S++) (?P<elapsed_ms>-?+[0-9.]++) ?ms\b"
    ),
    "spring": (
        rb"^(?P<time>[0-9]\S++(?: [0-9]\S++)?+) ++[A-Z]++ ++[0-9]++ --- \[ *+(?P<service>[^\]\n]*+)\] "
        rb"\[ *+(?P<thread>[^\]\n]*+)\] \[(?P<call>[^\]\n-]++)[^\]\n]*+\] ++\S++ *+: "
        rb"(?P<label>[0-9.]++) (?P<method>\S++) (?P<elapsed_ms>-?+[0-9.]++) ?ms\b"
    ),
    "json": None,
}
