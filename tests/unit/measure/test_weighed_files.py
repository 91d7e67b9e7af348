"""The weight of files in a checkout. Files outside of it do not count."""

import shutil
import zlib
from pathlib import Path

import pytest

from perf_culprit.measure.weighed_files import WeighingError, weigh
from perf_culprit.model.file_limits import FILE_LIMITS

FILES = {"dist/a-1.whl": 100, "dist/b.whl": 20, "dist/sub/c.whl": 3, "dist/notes.txt": 4000, "other/a.whl": 50_000}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for name, size in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(b"x" * size)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.whl").write_bytes(b"x" * 700_000)
    return tree


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("dist/*.whl", 120),
        ("dist/**/*.whl", 123),
        ("**/a*.whl", 50_100),
        ("dist", 4123),
        ("dist/", 4123),
        ("./dist/sub", 3),
        ("d*/s?b/**", 3),
        ("dist/b.whl", 20),
    ],
)
def test_a_pattern_is_the_sum_of_its_files(tree: Path, pattern: str, size: int) -> None:
    assert weigh(tree, pattern) == size


def test_files_weigh_what_a_server_sends(tree: Path) -> None:
    (tree / "dist/a-1.whl").write_bytes(text := bytes(range(256)) * 100)
    alone = [len(zlib.compress(one, 9, wbits=31)) for one in (text, b"x" * 20)]
    assert weigh(tree, "dist/*.whl:gzip") == pytest.approx(sum(alone), rel=0.05)
    (tree / "dist/odd:gzip").write_bytes(b"x" * 9)
    assert weigh(tree, "dist/odd:*") == 9


def test_a_missing_compressor_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WeighingError, match="brotli is not installed"):
        weigh(tree, "dist:brotli")


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
def test_zstd_weighs_less_than_the_file(tree: Path) -> None:
    assert 0 < weigh(tree, "other/a.whl:zstd") < 100


@pytest.mark.parametrize("pattern", ["dist/*.zip", "nowhere/*", "*.whl", "dist/a-1.whl/x"])
def test_no_file_is_no_weight_of_nothing(tree: Path, pattern: str) -> None:
    with pytest.raises(WeighingError, match="no file is called"):
        weigh(tree, pattern)


def test_links_lead_nowhere_and_two_names_of_a_file_weigh_once(tree: Path) -> None:
    (tree / "dist" / "link.whl").symlink_to(tree.parent / "outside" / "secret.whl")
    (tree / "dist" / "folder").symlink_to(tree.parent / "outside")
    (tree / "dist" / "again.whl").hardlink_to(tree / "dist" / "b.whl")
    (tree / "linked").symlink_to(tree.parent / "outside")
    assert weigh(tree, "dist/**/*.whl") == 123
    with pytest.raises(WeighingError, match="linked is a link"):
        weigh(tree, "linked/*.whl")
    with pytest.raises(WeighingError, match="no file is called"):
        weigh(tree, "*/folder/*.whl")


@pytest.mark.parametrize("pattern", ["../outside/*", "dist/../../outside/secret.whl", "/etc/passwd", "", "."])
def test_a_request_s_pattern_leads_nowhere_else(tree: Path, pattern: str) -> None:
    with pytest.raises(WeighingError, match="is not in the checkout"):
        weigh(tree, pattern)


def test_a_huge_tree_is_no_endless_walk(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "weighed_files", 3)
    assert weigh(tree, "other/*.whl") == 50_000
    with pytest.raises(WeighingError, match="more than 3 files"):
        weigh(tree, "**/*.whl")
