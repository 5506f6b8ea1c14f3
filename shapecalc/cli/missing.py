"""What is said where a package that shapecalc needs is not installed: a line with what installs it."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from shapecalc.cli.output import Exit, RunEnded, tell

PACKAGE = "shapecalc"


def missing_error(error: ImportError) -> RunEnded:
    """Tell which package is not there or too old, with what installs all that are missing; return the error to raise.

    Raises the error itself if it is about a module of shapecalc, or about none.
    """
    package = (error.name or "").partition(".")[0]
    if package in ("", PACKAGE):
        raise error
    needed = _requirements()
    missing = dict.fromkeys([package, *(name for name in needed if find_spec(name) is None)])
    wanted = " ".join(sorted(_quoted(needed.get(name, name)) for name in missing))
    fault = "is too old" if find_spec(package) else "is not installed"
    tell(f"shapecalc: {package} {fault}; pip install {wanted}")
    return RunEnded(Exit.FILE)


def _requirements() -> dict[str, str]:
    """Return what shapecalc needs besides its extras, by name, with the versions; nothing if nobody can tell."""
    try:
        stated = requires(PACKAGE) or []
    except PackageNotFoundError:
        return {}
    needed = [line for line in stated if "extra ==" not in line]
    return {re.split(r"[^\w-]", line)[0].replace("-", "_"): line for line in needed}


def _quoted(requirement: str) -> str:
    """Return a requirement as a shell reads it.

    >>> _quoted("rich"), _quoted("numpy>=1.26")
    ('rich', "'numpy>=1.26'")
    """
    return requirement if requirement.isidentifier() else f"'{requirement}'"
