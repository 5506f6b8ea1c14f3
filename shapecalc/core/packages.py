"""Packages that are not installed: which they are, and the command that installs them into this environment."""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

DISTRIBUTION = "tensor-shapecalc"
"""What is built and installed. The package in it and the command have the shorter name."""
DISTRIBUTIONS = {"PIL": "Pillow", "cupy": "cupy-cuda13x"}
"""The distributions that have another name than their module."""


def missing(module: str, extra: str = "") -> str:
    """Return that a module is not there or too old, and what installs all that it or its extra lacks here.

    >>> missing("nowhere").partition(";")[0]
    'nowhere is not installed'
    """
    needed = requirements(extra)
    lacking = {module: needed.get(module, DISTRIBUTIONS.get(module, module))}
    lacking |= {name: line for name, line in needed.items() if find_spec(name) is None}
    fault = "is too old" if find_spec(module) else "is not installed"
    return f"{module} {fault}; {install_command(*sorted(lacking.values()))}"


def requirements(extra: str = "") -> dict[str, str]:
    """Return what shapecalc or one of its extras needs, by module, with the versions; nothing if nobody can tell."""
    from importlib.metadata import PackageNotFoundError, requires  # it takes a while

    try:
        stated = [line.partition(";") for line in requires(DISTRIBUTION) or []]
    except PackageNotFoundError:
        return {}
    marker = f"extra == '{extra}'" if extra else ""
    lines = [line.strip() for line, _, when in stated if when.strip().replace('"', "'") == marker]
    modules = {name: module for module, name in DISTRIBUTIONS.items()}
    names = [re.split(r"[^\w-]", line)[0] for line in lines]
    return {modules.get(name, name.replace("-", "_")): line for name, line in zip(names, lines, strict=True)}


def install_command(*requirements: str) -> str:
    """Return the command that installs requirements into this environment, by the program that made it."""
    made, python = Path(sys.prefix), shlex.quote(sys.executable)
    stated, found = made / "pyvenv.cfg", Path(which("python3") or "")
    installer = f"{'python3' if found.parent == Path(sys.executable).parent else python} -m pip install"
    if (made / "pipx_metadata.json").exists():
        installer = f"pipx inject {shlex.quote(made.name)}"
    elif stated.exists() and re.search(r"^uv *=", stated.read_text("utf-8"), re.M):
        installer = "uv pip install" + f" --python {python}" * (os.environ.get("VIRTUAL_ENV") != sys.prefix)
    return f"{installer} {shlex.join(requirements)}"
