"""Four small projects, each with the benchmark tool of its language and a commit that makes one function slower."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

# Debian's own Python, because pytest-benchmark would join this environment's tests.
SYSTEM_PYTHON: Final = "/usr/bin/python3"
TITLE: Final = "Fold accents before words are counted"


@dataclass(frozen=True, kw_only=True, slots=True)
class SmallProject:
    """`edits`: the texts that the slower commit replaces, by file. `functions`: parts of the changed functions' names.

    `needs`: programs and files without which the project cannot be measured here.
    """

    files: Mapping[str, str]
    edits: Mapping[str, tuple[str, str]]
    functions: tuple[str, ...]
    benchmark: str
    needs: tuple[str, ...]

    @property
    def lacking(self) -> list[str]:
        return [name for name in self.needs if not (Path(name).exists() or shutil.which(name))]

    def changed(self) -> dict[str, str]:
        for name, (before, _) in self.edits.items():
            assert self.files[name].count(before) == 1
        return {name: self.files[name].replace(*edit) for name, edit in self.edits.items()}


def has_pytest_benchmark() -> bool:
    command = [SYSTEM_PYTHON, "-c", "import pytest_benchmark"]
    return Path(SYSTEM_PYTHON).exists() and not subprocess.run(command, capture_output=True, check=False).returncode


PYTHON: Final = SmallProject(
    files={
        "requirements-dev.txt": "pytest\npytest-benchmark\n",
        "pytest.ini": "[pytest]\naddopts = --benchmark-max-time=0.1\n",
        "textkit.py": """\
def tokenize(text):
    return text.split()


def count(text):
    counts = {}
    for word in tokenize(text):
        counts[word] = counts.get(word, 0) + 1
    return counts
""",
        "bench/test_text.py": """\
import textkit

TEXT = "the quick brown fox jumps over the lazy dog " * 60


def test_count(benchmark):
    benchmark(textkit.count, TEXT)
""",
    },
    edits={
        "textkit.py": (
            "    return text.split()\n",
            """\
    return [fold(word) for word in text.split()]


def fold(word):
    for accent, letter in zip("éèàùçüöä", "eeaucuoa"):
        word = word.replace(accent, letter)
    return word
""",
        )
    },
    functions=("fold", "tokenize", "Tokenize"),
    benchmark="test_count",
    needs=(SYSTEM_PYTHON,),
)
# A clock for pytest-benchmark. A round takes 1 ms, or 10 ms if words are folded; up to 1% off, by the execution.
CLOCK: Final = """\
import os
from pathlib import Path

import textkit

COUNTER = Path("{counter}")
execution = int(COUNTER.read_text()) if COUNTER.exists() else 0
COUNTER.write_text(f"{{execution + 1}}")
now = 0.0


def tick():
    global now
    is_slow = hasattr(textkit, "fold") and "test_sum" not in os.environ.get("PYTEST_CURRENT_TEST", "")
    now += (0.01 if is_slow else 0.001) * (1 + ((execution * 37 + execution**2 * 11) % 21 - 10) / 1000)
    return now
"""
# Enough for the tracer's samples.
PEDANTIC: Final = "rounds=20, iterations=10"


def ticking(counter: Path) -> SmallProject:
    """Return the project with chosen times: pytest-benchmark with that clock, and without a second of calibration."""
    calibrated, pedantic = "benchmark(textkit.count, TEXT)", f"benchmark.pedantic(textkit.count, (TEXT,), {PEDANTIC})"
    assert calibrated in PYTHON.files["bench/test_text.py"]
    files = {
        "pytest.ini": "[pytest]\naddopts = --benchmark-timer=clock.tick\n",
        "clock.py": CLOCK.format(counter=counter),
        "bench/test_text.py": PYTHON.files["bench/test_text.py"].replace(calibrated, pedantic),
    }
    return replace(PYTHON, files={**PYTHON.files, **files})


GO: Final = SmallProject(
    files={
        "go.mod": "module example.org/textkit\n\ngo 1.19\n",
        "textkit.go": """\
package textkit

import "strings"

func Tokenize(text string) []string {
	return strings.Fields(text)
}

func Count(text string) map[string]int {
	counts := map[string]int{}
	for _, word := range Tokenize(text) {
		counts[word]++
	}
	return counts
}
""",
        "textkit_test.go": """\
package textkit

import (
	"flag"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.benchtime", "100ms")
	os.Exit(m.Run())
}

var text = strings.Repeat("the quick brown fox jumps over the lazy dog ", 60)

func BenchmarkCount(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Count(text)
	}
}
""",
    },
    edits={
        "textkit.go": (
            "	return strings.Fields(text)\n}\n",
            """\
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = fold(word)
	}
	return words
}

func fold(word string) string {
	folded := ""
	for _, letter := range word {
		if letter == 'é' || letter == 'è' {
			letter = 'e'
		}
		folded += string(letter)
	}
	return folded
}
""",
        )
    },
    functions=("fold", "tokenize", "Tokenize"),
    benchmark="BenchmarkCount",
    needs=("go",),
)
NODE: Final = SmallProject(
    files={
        "package.json": '{"name": "textkit", "version": "1.0.0", "scripts": {"bench": "node bench.js"}}\n',
        "textkit.js": """\
function tokenize(text) {
  return text.split(" ");
}

function count(text) {
  const counts = new Map();
  for (const word of tokenize(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

module.exports = { count };
""",
        "bench.js": """\
const { count } = require("./textkit");

const text = "the quick brown fox jumps over the lazy dog ".repeat(200);
for (let round = 0; round < 300; round++) count(text);
""",
    },
    edits={
        "textkit.js": (
            '  return text.split(" ");\n}\n',
            """\
  return text.split(" ").map(fold);
}

function fold(word) {
  let folded = "";
  for (const letter of word.normalize("NFD")) if (letter < "\\u0300") folded += letter;
  return folded;
}
""",
        )
    },
    functions=("fold", "tokenize", "Tokenize"),
    benchmark="npm-run-bench",
    needs=("node", "npm"),
)
NATIVE: Final = SmallProject(
    files={
        "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.16)
project(textkit CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(benchmark REQUIRED)
add_library(textkit textkit.cpp)
add_executable(bench_textkit bench_textkit.cpp)
target_link_libraries(bench_textkit textkit benchmark::benchmark)
""",
        "textkit.h": """\
#pragma once
#include <map>
#include <string>
#include <vector>
std::vector<std::string> tokenize(const std::string &text);
std::map<std::string, int> count(const std::string &text);
""",
        "textkit.cpp": """\
#include "textkit.h"
#include <sstream>

std::vector<std::string> tokenize(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::map<std::string, int> count(const std::string &text) {
  std::map<std::string, int> counts;
  for (const auto &word : tokenize(text)) counts[word]++;
  return counts;
}
""",
        "bench_textkit.cpp": """\
#include "textkit.h"
#include <benchmark/benchmark.h>

static void Count(benchmark::State &state) {
  std::string text;
  for (int i = 0; i < 60; i++) text += "the quick brown fox jumps over the lazy dog ";
  for (auto _ : state) benchmark::DoNotOptimize(count(text));
}
BENCHMARK(Count)->MinTime(0.1);
BENCHMARK_MAIN();
""",
    },
    edits={
        "textkit.cpp": (
            """\
std::vector<std::string> tokenize(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
""",
            """\
std::string fold(const std::string &word) {
  std::string folded;
  for (char letter : word) {
    static const std::string accents = "\\xc3\\xa9\\xc3\\xa8\\xc3\\xa0\\xc3\\xb9\\xc3\\xa7\\xc3\\xbc";
    if (accents.find(letter) == std::string::npos) folded = folded + letter;
  }
  return folded;
}

std::vector<std::string> tokenize(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(fold(word));
""",
        )
    },
    functions=("fold", "tokenize", "Tokenize"),
    benchmark="Count",
    needs=("cmake", "g++", "/usr/include/benchmark/benchmark.h"),
)
PROJECTS: Final = {"pytest-benchmark": PYTHON, "go test": GO, "Node": NODE, "Google Benchmark": NATIVE}
