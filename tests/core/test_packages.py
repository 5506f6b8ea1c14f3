"""Check install hints: requirements with versions, the command of this environment, never our name on an index."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires

import pytest

from shapecalc.core import packages
from shapecalc.render.mdoc import remove_escapes
from tests.sessions import MARKDOWN, PAGES, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
INSTALLS = re.compile(
    r"(?:pip3? install|pipx (?:install|inject|run|upgrade)|uv (?:pip install|add|tool install)|uvx)\b([^\n`;&]*)"
)
OWN_NAMES = {packages.DISTRIBUTION, PROJECT["name"], "shapecalc"}
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in (
        *MARKDOWN,
        *PAGES,
        ROOT / ".pre-commit-hooks.yaml",
        *(ROOT / "shapecalc").rglob("*.py"),
        *(ROOT / "shapecalc").rglob("*.toml"),
    )
}


def index_installs(text):
    """Return the commands in a text that install our package from an index."""
    commands = []
    for command in INSTALLS.finditer(remove_escapes(text)):
        words = [word.strip("'\"{}(),") for word in command[1].split() if not word.startswith("-")]
        words = words[1:] if "pipx inject" in command[0] else words  # the first word is an existing environment
        commands += [command[0] for word in words if re.split(r"[\[<>=!~]", word)[0] in OWN_NAMES and "@" not in words]
    return commands


def test_install_commands_never_name_our_package_from_an_index():
    assert {name: commands for name, text in TEXTS.items() if (commands := index_installs(text))} == {}


def test_wrong_install_command_is_detected():
    assert all(
        map(index_installs, ("pip install 'shapecalc[onnx]'", "uv tool install tensor-shapecalc", "uvx shapecalc"))
    )
    assert index_installs("pipx install shapecalc")
    assert not index_installs("pip install '.[onnx]'; pip install 'tensor-shapecalc @ git+REPO'")
    assert not index_installs("pipx inject tensor-shapecalc onnx")
    assert sum(len(INSTALLS.findall(text)) for text in TEXTS.values()) > 6


@pytest.fixture
def project_requirements(monkeypatch):
    """Take the requirements from pyproject.toml, whatever version is installed."""
    extras = [
        f"{line}; extra == '{name}'" for name, lines in PROJECT["optional-dependencies"].items() for line in lines
    ]
    names = {packages.DISTRIBUTION: [*PROJECT["dependencies"], *extras]}
    monkeypatch.setattr("importlib.metadata.requires", names.__getitem__)


@pytest.mark.usefixtures("project_requirements")
@pytest.mark.parametrize(
    ("module", "extra", "installed", "requirements"),
    [
        ("onnx", "onnx", set(), ["onnx>=1.23"]),
        ("PIL", "film", set(), ["Pillow>=10.3", "resvg-py>=0.3.2"]),
        ("resvg_py", "film", {"PIL"}, ["resvg-py>=0.3.2"]),
        ("textual_serve", "serve", {"aiohttp"}, ["textual-serve>=1.1"]),
        ("h5py", "h5py", {"zarr"}, ["h5py>=3.11"]),
        ("cupy", "cupy12", {"cupy_cuda12x"}, ["cupy-cuda13x"]),
        ("cupy", "cupy13", set(), ["cupy-cuda13x[ctk]>=14"]),
        ("httpx", "mcp", {"mcp"}, ["httpx"]),
        ("typer", "", {"textual", "rich", "numpy", "prompt_toolkit", "platformdirs", "tomlkit"}, ["typer>=0.27.2"]),
    ],
)
def test_missing_package_is_named_with_versions(monkeypatch, module, extra, installed, requirements):
    monkeypatch.setattr(packages, "find_spec", lambda name: name in installed or None)
    message, _, command = packages.missing_package_message(module, extra).partition("; ")
    assert (message, shlex.split(command)[-len(requirements) - 1 :]) == (
        f"{module} is not installed",
        ["install", *requirements],
    )
    monkeypatch.setattr(packages, "find_spec", lambda name: name == module or None)
    assert packages.missing_package_message(module, extra).startswith(f"{module} is too old; ")


def test_missing_metadata_leaves_plain_names(monkeypatch):
    monkeypatch.setattr(packages, "DISTRIBUTION", "no-such-distribution")
    assert packages.missing_package_message("resvg-py", "film").endswith(" install resvg-py")
    assert packages.missing_package_message("cupy", "cupy13").endswith(" install cupy-cuda13x")


@pytest.mark.parametrize(
    ("files", "environment", "expected"),
    [
        ({"pipx_metadata.json": "{}", "pyvenv.cfg": "uv = 0.9"}, {}, "pipx inject made x"),
        ({"uv-receipt.toml": "", "pyvenv.cfg": "uv=1"}, {}, "uv pip install --python {python} x"),
        ({"pyvenv.cfg": "home = /usr/bin\nuv = 0.9.5"}, {}, "uv pip install --python {python} x"),
        ({"pyvenv.cfg": "uv = 0.9.5"}, {"VIRTUAL_ENV": "{prefix}"}, "uv pip install x"),
        ({"pyvenv.cfg": "home = /opt/uv = 1"}, {}, "{python} -m pip install x"),
        ({"bin/python3": ""}, {"PATH": "{prefix}/bin"}, "python3 -m pip install x"),
        ({}, {"PATH": ""}, "{python} -m pip install x"),
    ],
)
def test_install_command_matches_the_environment(tmp_path, monkeypatch, files, environment, expected):
    prefix = tmp_path / "made"
    (prefix / "bin").mkdir(parents=True)
    for name, text in files.items():
        (prefix / name).write_text(text)
        (prefix / name).chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin" / "python"))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(prefix=prefix))
    assert packages.install_command("x") == expected.format(python=prefix / "bin" / "python")


def test_installed_packages_are_stated_by_module_name():
    try:
        requires(packages.DISTRIBUTION)
    except PackageNotFoundError:
        pytest.skip("not installed, only on the path")
    for name in packages.list_requirements():
        __import__(name)
