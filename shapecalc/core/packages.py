"""Messages about missing optional packages, with the command that installs them."""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

DISTRIBUTION = "tensor-shapecalc"
"""The name of the distribution on PyPI. The package and the command have the name `shapecalc`."""
DISTRIBUTION_OF_MODULE = {"PIL": "Pillow", "cupy": "cupy-cuda13x"}
"""The names of distributions that differ from the name of the module, keyed by module."""


def missing_package_message(module: str, extra: str = "") -> str:
    """Return the error message for a missing or outdated module.

    The message contains a command that installs the module and all missing requirements of `extra`. If `extra` is
    empty, these are the requirements without extras.

    >>> missing_package_message("nowhere").partition(";")[0]
    'nowhere is not installed'
    """
    required = list_requirements(extra)
    absent = {module: required.get(module, DISTRIBUTION_OF_MODULE.get(module, module))}
    absent |= {name: line for name, line in required.items() if find_spec(name) is None}
    fault = "is too old" if find_spec(module) else "is not installed"
    return f"{module} {fault}; {install_command(*sorted(absent.values()))}"


def list_requirements(extra: str = "") -> dict[str, str]:
    """Map each required module to its requirement specifier.

    The requirements are those of `extra`, or the requirements without extras if `extra` is empty. The mapping is empty
    if the distribution has no installed metadata.
    """
    from importlib.metadata import PackageNotFoundError, requires  # imported here because the import is slow

    try:
        specifiers = [line.partition(";") for line in requires(DISTRIBUTION) or []]
    except PackageNotFoundError:
        return {}
    marker = f"extra == '{extra}'" if extra else ""
    lines = [line.strip() for line, _, when in specifiers if when.strip().replace('"', "'") == marker]
    modules = {name: module for module, name in DISTRIBUTION_OF_MODULE.items()}
    names = [re.split(r"[^\w-]", line)[0] for line in lines]
    return {modules.get(name, name.replace("-", "_")): line for name, line in zip(names, lines, strict=True)}


def install_command(*packages: str) -> str:
    """Return the pip, pipx or uv command that installs packages in this environment."""
    environment, python = Path(sys.prefix), shlex.quote(sys.executable)
    config, python3 = environment / "pyvenv.cfg", Path(which("python3") or "")
    installer = f"{'python3' if python3.parent == Path(sys.executable).parent else python} -m pip install"
    if (environment / "pipx_metadata.json").exists():
        installer = f"pipx inject {shlex.quote(environment.name)}"
    elif config.exists() and re.search(r"^uv *=", config.read_text("utf-8"), re.M):
        installer = "uv pip install" + f" --python {python}" * (os.environ.get("VIRTUAL_ENV") != sys.prefix)
    return f"{installer} {shlex.join(packages)}"
