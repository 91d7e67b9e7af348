import builtins
from collections.abc import Mapping, Sequence

import pytest

from bot.errors import UsageError
from bot.report.html import render_html
from bot.report.markdown import render_markdown
from tests.support.reports import every_conclusion


def test_page_shows_the_comment_without_scripts_or_resources() -> None:
    page = render_html(render_markdown(every_conclusion()["regression-fails"]))
    assert "2 of 10 benchmarks got slower" in page
    assert page.count("<details>") == page.count("</details>") == 2
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "src=" not in page.replace("default-src=", "")


def test_mermaid_stays_code() -> None:
    assert '<pre lang="mermaid"><code>flowchart LR' in render_html("```mermaid\nflowchart LR\n```\n")


def test_missing_parser_names_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_cmarkgfm(
        name: str,
        globals_: Mapping[str, object] | None = None,
        locals_: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> object:
        if name == "cmarkgfm":
            raise ImportError(name)
        return real_import(name, globals_, locals_, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without_cmarkgfm)
    with pytest.raises(UsageError, match="preview") as caught:
        render_html("# x")
    assert caught.value.next_step is not None
