"""The documentation's pictures of the dashboard in the folder SITE: `python -m tests.support.dashboard_picture SITE`.

docs/dashboard.png is the top of its overview, docs/dashboard-benchmark.png the first benchmark of its list.
"""

import argparse
import base64
from pathlib import Path
from time import sleep
from typing import Final

from tests.support.chromium import Page, open_page

DOCS: Final = Path(__file__).parents[2] / "docs"
WIDTH, HEIGHT = 1280, 940


def take(page: Page, png: Path, *, height: int) -> None:
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
    shot = page.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    png.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="the documentation's pictures of a dashboard")
    parser.add_argument("site", type=Path)
    with open_page() as page:
        page.open(parser.parse_args().site / "index.html", width=WIDTH)
        take(page, DOCS / "dashboard.png", height=HEIGHT)
        page.value("document.querySelector('tbody a').click()")
        sleep(3)  # until it is drawn
        take(page, DOCS / "dashboard-benchmark.png", height=900)
