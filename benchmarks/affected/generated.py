"""Compare what `affected` leaves out in generated repositories with an execution of the benchmark.

`python -m benchmarks.affected.generated [--each 50] [LANGUAGE …]`. The numbers of the cases are their seeds. A case is
missed if the benchmark fails at the changed commit and `affected` says that nothing reaches it.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.support.reach_cases import MAKERS, generated, judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("languages", nargs="*", default=list(MAKERS))
    asked = parser.parse_args()
    for language in asked.languages:
        counts: Counter[str] = Counter()
        for number in range(asked.first, asked.first + asked.each):
            case = generated(language, number)
            with tempfile.TemporaryDirectory() as folder:
                truth = judged(case, Path(folder))
            kind = "fails" if truth.breaks else "runs"
            answer = "measured" if truth.why else "left out"
            counts[f"{kind}, {answer}" if truth.is_valid else "invalid"] += 1
            mark = "MISSED " if truth.is_missed else ""
            print(f"{mark}{case.name}; {case.run}; {case.broken}: {kind}, {answer} ({truth.why})", flush=True)
        print(f"{language}: {dict(sorted(counts.items()))}", flush=True)


if __name__ == "__main__":
    main()
