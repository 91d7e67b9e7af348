"""A small shop with a package of five modules and three services, in eight commits; the fifth makes one method slow.

`Rebates.best` is called by `place_order`, `Checkout.total` and `PriceList.price`, and for invoices too, which the
search does not run. It uses processor time and does not sleep.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.support.git_repository import init_repository, run_git

CULPRIT = "Compare every tier in full, so that none is missed"
METHOD = "shop.rebates.Rebates.best"
SLOW_SERVICES = ("services.py::test_order", "services.py::test_invoice")

REBATES = """class Rebates:
    def __init__(self, tiers):
        self.tiers = tiers

    def best(self, amount):
        found = 0
        for _ in range({rounds}):
            for tier in self.tiers:
                found = max(found, tier * amount % 97)
        return found
"""
PRICES = """from shop.rebates import Rebates


class PriceList:
    def __init__(self):
        self.rebates = Rebates(range(400))

    def price(self, article, number):
        return number * taxed(article) - self.rebates.best(number)


def taxed(article):
    net = 0
    for digit in range(400):
        net += (article * digit) % 19
    return net
"""
CHECKOUT = """from shop.prices import PriceList


class Checkout:
    def __init__(self):
        self.prices = PriceList()

    def total(self, articles):
        total = 0
        for number, article in enumerate(articles):
            total += self.prices.price(article, number)
        return total


def place_order(articles):
    return Checkout().total(articles)
"""
INVOICE = """from shop.checkout import Checkout


def invoice(articles):
    lines = heading(articles)
    return lines + [str(Checkout().total(articles))]


def heading(articles):
    return [f"{article:>{width}}" for article in articles for width in range(40)]
"""
SEARCH = """def search(word, texts):
    return [text for text in texts if distance(word, text) < 3]


def distance(first, second):
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, right in enumerate(second, 1):
            above, row[j] = row[j], min(above + (left != right), row[j] + 1, row[j - 1] + 1)
    return row[-1]
"""
SERVICES = """from shop.checkout import place_order
from shop.invoice import invoice
from shop.search import search

ARTICLES = range(60)
TEXTS = [f"article number {number}" for number in range(60)]


def test_order():
    place_order(ARTICLES)


def test_invoice():
    invoice(ARTICLES)


def test_search():
    search("numbers", TEXTS)
"""
# The fastest of the given number of calls, in processor time, which excludes other processes.
BENCHMARK = """import json
import sys
import time

from services import test_invoice, test_order, test_search


def quickest(service):
    taken = []
    for _ in range(int(sys.argv[1])):
        started = time.process_time()
        service()
        taken.append(time.process_time() - started)
    return min(taken) * 1000


SERVICES = {"order": test_order, "invoice": test_invoice, "search": test_search}
print(json.dumps([{"name": name, "unit": "ms", "value": quickest(one)} for name, one in SERVICES.items()]))
"""

START = {
    "shop/__init__.py": "",
    "shop/rebates.py": REBATES.format(rounds=1),
    "shop/prices.py": PRICES,
    "shop/checkout.py": CHECKOUT,
    "shop/invoice.py": INVOICE,
    "shop/search.py": SEARCH,
    "services.py": SERVICES,
    "bench.py": BENCHMARK,
}
HEADING = INVOICE.replace('f"{article:>{width}}"', 'f"{article:<{width}}"')
COMMITS = (
    ("A shop", START),
    ("Describe the shop", {"README.md": "# shop\n"}),
    ("Say what the total is", {"shop/checkout.py": CHECKOUT.replace("class Checkout:", "# The sum\nclass Checkout:")}),
    ("Look at fewer texts", {"shop/search.py": SEARCH.replace("< 3", "<= 2")}),
    (CULPRIT, {"shop/rebates.py": REBATES.format(rounds=3), "shop/invoice.py": HEADING}),
    ("Count from below", {"shop/search.py": SEARCH.replace("< 3", "< 2 + 1")}),
    ("Put the factor behind", {"shop/prices.py": PRICES.replace("(article * digit)", "(digit * article)")}),
    ("Name the licence", {"README.md": "# shop\n\nMIT.\n"}),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShopHistory:
    """The repository and its `commits` on main, oldest first."""

    repository: Path
    commits: tuple[str, ...]

    @property
    def culprit(self) -> str:
        return self.commits[[message for message, _ in COMMITS].index(CULPRIT)]

    @property
    def before(self) -> str:
        return self.commits[self.commits.index(self.culprit) - 1]

    def checkout(self, commit: str, folder: Path) -> Path:
        run_git(self.repository, "worktree", "add", "--quiet", "--detach", str(folder), commit)
        return folder


def shop_history(folder: Path) -> ShopHistory:
    init_repository(folder)
    commits = []
    for message, files in COMMITS:
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        run_git(folder, "add", "--all")
        run_git(folder, "commit", "--quiet", "-m", message)
        commits.append(run_git(folder, "rev-parse", "HEAD"))
    return ShopHistory(repository=folder, commits=tuple(commits))


def benchmark_command(python: str, *, calls: int) -> str:
    return f"{shlex.quote(python)} -B bench.py {calls}"
