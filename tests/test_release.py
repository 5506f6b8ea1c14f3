"""Release files: one version, complete wheel and sdist, compatible licences."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import metadata
from importlib.util import find_spec

import pytest

from shapecalc import __version__
from tests.cli.conftest import process
from tests.sessions import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PERMISSIVE = ("MIT", "BSD", "Apache")
NEEDED = (
    *("README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", "LICENSE"),
    *("pyproject.toml", ".pre-commit-hooks.yaml", ".ci/run"),
)
"""The files outside `shapecalc`, `tests` and `man` that the tests and checks read."""


def test_release_version_and_changelog_agree():
    assert process("--version", capture_output=True, text=True).stdout == f"shapecalc {__version__}\n"
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, last = re.findall(r"^## (\S+)", text, re.M)[:2]
    assert (first, last) == ("Unreleased", __version__)
    unreleased = text.partition("## Unreleased")[2].partition("\n## ")[0]
    titles = re.findall(r"^### (\w+)", unreleased, re.M)
    assert titles == [title for title in ("Added", "Changed", "Removed", "Fixed") if title in titles]


def test_lowest_versions_script_names_existing_paths():
    script = (ROOT / "tests/lowest.sh").read_text("utf-8")
    words = [word for chosen in re.findall(r"chosen\+?=\((.*)\)", script) for word in chosen.split()]
    paths = [path for word in words for path in expand_braces(word)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def expand_braces(word):
    """Return the words of a shell word with at most one pair of braces."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", word)
    return [found[1] + part + found[3] for part in found[2].split(",")] if found else [word]


@pytest.mark.parametrize("name", [re.match(r"[\w-]+", requirement).group() for requirement in PROJECT["dependencies"]])
def test_release_dependencies_have_allowed_licences(name):
    info = metadata(name)
    licences = [info.get("License-Expression", ""), *(info.get_all("Classifier") or [])]
    assert any(word in licence for licence in licences for word in PERMISSIVE if "Programming" not in licence)
    assert "GPL" not in " ".join(licences)


@pytest.fixture(scope="module")
def dist_folder(tmp_path_factory):
    """Build a wheel and an sdist of this checkout, and return their folder."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed")
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


def files_below(*names):
    """Return the files of this checkout below some folders, without caches."""
    paths = [path for name in names for path in (ROOT / name).rglob("*") if path.is_file()]
    return {str(path.relative_to(ROOT)) for path in paths if "__pycache__" not in path.parts}


@pytest.mark.slow
def test_release_wheel_has_package_and_manual(dist_folder):
    (wheel,) = dist_folder.glob("*.whl")
    files = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    pages = files_below("man")
    for_man = {f"tensor_shapecalc-{__version__}.data/data/share/man/man{page[-1]}/{page[4:]}" for page in pages}
    for_help = {f"shapecalc/{page}" for page in pages}
    package = files_below("shapecalc") - files_below("shapecalc/script")
    assert set(files) == package | for_man | for_help | {"_shapecalc_script.py"}
    assert "shapecalc/py.typed" in files
    kinds = {"py", "typed", "tcss", "toml", "html", "css", "js", "ttf", "txt", "1", "5", "7"}
    assert {name.rpartition(".")[2] for name in files} == kinds


@pytest.mark.slow
def test_release_sdist_has_test_files(dist_folder):
    (sdist,) = dist_folder.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        files = {name.partition("/")[2] for name in opened.getnames()}
    assert files >= files_below("shapecalc", "tests", "man") | set(NEEDED)
