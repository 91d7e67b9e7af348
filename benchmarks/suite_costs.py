"""Measure four rounds of a small suite in each language: executions and seconds, builds included.

    python -m benchmarks.suite_costs [node] [rust] [jvm]

Each project is a repository with a slower commit. The commands are those that `init` writes for such a project.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.four_projects import NODE

CRITERION = """\
use criterion::{criterion_group, criterion_main, Criterion};
fn count(c: &mut Criterion) {
    let text = "the quick brown fox jumps over the lazy dog ".repeat(60);
    c.bench_function("count", |b| b.iter(|| textkit::count(&text)));
}
criterion_group!(benches, count);
criterion_main!(benches);
"""
MANIFEST = """\
[package]
name = "textkit"
version = "1.0.0"
edition = "2021"
[lib]
bench = false
[dev-dependencies]
criterion = { version = "0.6", default-features = false, features = ["cargo_bench_support"] }
[[bench]]
name = "text"
harness = false
"""
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>x</groupId><artifactId>textkit</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies>
<dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-core</artifactId><version>1.37</version></dependency>
<dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-generator-annprocess</artifactId><version>1.37</version>
</dependency></dependencies></project>
"""
JMH = """\
package x;
import java.util.HashMap;
import org.openjdk.jmh.annotations.*;
@Fork(1) @Warmup(iterations = 2, time = 1) @Measurement(iterations = 3, time = 1) @State(Scope.Benchmark)
public class Text {
    String text = "the quick brown fox jumps over the lazy dog ".repeat(60);
    @Benchmark public Object count() {
        var counts = new HashMap<String, Integer>();
        for (String word : text.split(" ")) counts.merge(word, 1, Integer::sum);
        return counts;
    }
}
"""
COUNT = """\
use std::collections::HashMap;
pub fn count(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in text.split(' ') {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}
"""
JAVA: Final = 'java -cp "target/classes:$(cat target/classpath.txt)" org.openjdk.jmh.Main'
# Files, the file and the texts of the slower commit, build, run.
SUITES: Final[Mapping[str, tuple[Mapping[str, str], Mapping[str, tuple[str, str]], str, str]]] = {
    "node": (NODE.files, NODE.edits, "", "time -p npm run bench"),
    "rust": (
        {"Cargo.toml": MANIFEST, "src/lib.rs": COUNT, "benches/text.rs": CRITERION},
        {"src/lib.rs": ("text.split(' ')", "text.to_lowercase().leak().split(' ')")},
        "cargo bench --no-run",
        'cargo bench && cp -r target/criterion "$PERF_CULPRIT_OUTPUT"',
    ),
    "jvm": (
        {"pom.xml": POM, "src/main/java/x/Text.java": JMH},
        {"src/main/java/x/Text.java": ("text.split", "text.toLowerCase().split")},
        "mvn --quiet compile dependency:build-classpath -Dmdep.outputFile=target/classpath.txt",
        f'{JAVA} -rf json -rff "$PERF_CULPRIT_OUTPUT"',
    ),
}


def measured(name: str, root: Path) -> str:
    files, edits, build, run = SUITES[name]

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", root, "-c", "user.name=x", "-c", "user.email=x@x", *words], check=True)

    git("init", "--quiet")
    (root / ".gitignore").write_text("target\n")
    for changes in (files, {path: files[path].replace(*edit) for path, edit in edits.items()}):
        for path, text in changes.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--message", "x")
    command = ["perf-culprit", "measure", "--repo", str(root), "--commits", "HEAD~1", "HEAD", "--rounds", "4"]
    command += ["--run", f"bash -c '({run}) 2>&1'" if run.startswith("time") else run, "--timeout", "900"]
    command += [*(("--build", build) if build else ()), "--output", str(root.parent / "out")]
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    executions = re.search(r"\d+ executions", done.stdout)
    return f"{name}: {time.monotonic() - begun:.0f} s, {executions[0] if executions else done.stdout + done.stderr}"


if __name__ == "__main__":
    for suite in sys.argv[1:] or SUITES:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "textkit"
            root.mkdir()
            print(measured(suite, root), flush=True)
