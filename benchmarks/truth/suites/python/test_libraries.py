"""Twenty-two benchmarks of Python libraries that the test environment holds anyway."""

import base64
import csv
import hashlib
import io
import json
import pickle
import random
import re
import sqlite3
import textwrap
import tomllib
import zlib
from collections.abc import Callable
from typing import Any

import jinja2
import markdown_it
import msgpack
import msgspec
import numpy as np
import pytest
import yaml
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

RANDOM = random.Random(1)
ROWS = [{"id": index, "name": f"name {index}", "value": RANDOM.random(), "tags": ["a", "b"]} for index in range(60)]
TEXT = json.dumps(ROWS)
TOML = "\n".join(f'[table{row["id"]}]\nname = "{row["name"]}"\nvalue = {row["value"]}' for row in ROWS[:20])
YAML = "\n".join(f"- {{id: {row['id']}, value: {row['value']}}}" for row in ROWS[:5])
PROSE = "\n\n".join(f"# Part {index}\n\nSome *words* and `code` of {index}." for index in range(5))
SOURCE = "def add(first, second):\n    return first + second\n" * 5
TEMPLATE = jinja2.Template("{% for row in rows %}{{ row.id }}: {{ row.name | upper }}\n{% endfor %}")
WORDS = re.compile(r"(\w+) (\d+)")
VALUES = [row["value"] for row in ROWS] * 20
ARRAY = np.array(VALUES)
DATABASE = sqlite3.connect(":memory:")
DATABASE.execute("create table rows (id integer, name text, value real)")
DATABASE.executemany("insert into rows values (:id, :name, :value)", ROWS)
TABLE = "\n".join(f"{row['id']},{row['name']},{row['value']}" for row in ROWS)

CASES: dict[str, Callable[[], Any]] = {
    "json dumps": lambda: json.dumps(ROWS),
    "json loads": lambda: json.loads(TEXT),
    "msgspec decode": lambda: msgspec.json.decode(TEXT),
    "msgspec encode": lambda: msgspec.json.encode(ROWS),
    "msgpack pack": lambda: msgpack.packb(ROWS),
    "pickle": lambda: pickle.loads(pickle.dumps(ROWS)),  # noqa: S301 our own bytes
    "tomllib": lambda: tomllib.loads(TOML),
    "yaml": lambda: yaml.safe_load(YAML),
    "jinja2 render": lambda: TEMPLATE.render(rows=ROWS),
    "re findall": lambda: WORDS.findall(TEXT),
    "re sub": lambda: WORDS.sub(r"\2 \1", TEXT),
    "sqlite3 select": lambda: DATABASE.execute("select * from rows where value > 0.5 order by name").fetchall(),
    "sqlite3 group": lambda: DATABASE.execute("select id % 7, sum(value) from rows group by 1").fetchall(),
    "csv": lambda: list(csv.reader(io.StringIO(TABLE))),
    "zlib": lambda: zlib.compress(TEXT.encode()),
    "sha256": lambda: hashlib.sha256(TEXT.encode()).digest(),
    "base64": lambda: base64.b64encode(TEXT.encode()),
    "sorted": lambda: sorted(VALUES),
    "numpy sort": lambda: np.sort(ARRAY),
    "textwrap": lambda: textwrap.fill(PROSE, 30),
    "markdown-it": lambda: markdown_it.MarkdownIt().render(PROSE),
    "pygments": lambda: highlight(SOURCE, PythonLexer(), HtmlFormatter()),
}


@pytest.mark.parametrize("case", CASES)
def test_speed(case: str, benchmark: Any) -> None:
    benchmark(CASES[case])
