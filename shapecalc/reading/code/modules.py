"""The files that Python code imports from its own package.

The files are read, but never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from shapecalc.core.limits import MAX_CODE_LENGTH
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

MAX_FILES = 64
"""The maximum number of files that are read for one file."""


class ImportedName(Record):
    """A name that `from MODULE import NAME` binds."""

    module: str
    level: int
    """The number of leading dots of the module."""
    name: str


@lru_cache(maxsize=4)
def imported_names(tree: ast.AST) -> dict[str, ImportedName]:
    """Return the imported names in code, keyed by the names that they are bound to."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = ImportedName(node.module or "", node.level, alias.name)
    return names


def find_module(path: Path, imported: ImportedName) -> Path | None:
    """Return the file of a module that the file `path` imports.

    The module must belong to the same package. A relative import is resolved from the folder of the file, and an
    absolute import from the folder that contains the outermost package.
    """
    folder, parts = path.parent, imported.module.split(".") if imported.module else []
    if imported.level:
        for _ in range(imported.level - 1):
            folder = folder.parent
    else:
        package = _outermost_package(folder)
        if package is None or parts[:1] != [package.name]:
            return None
        folder = package.parent
    target = folder.joinpath(*parts)
    candidates = (target.with_suffix(".py"), target / "__init__.py") if parts else (target / "__init__.py",)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _outermost_package(folder: Path) -> Path | None:
    """Return the outermost package folder that contains a file, or None."""
    packages = [*_iter_enclosing_packages(folder)]
    return packages[-1] if packages else None


def _iter_enclosing_packages(folder: Path) -> Iterator[Path]:
    while (folder / "__init__.py").is_file():
        yield folder
        folder = folder.parent


def read_module(path: Path) -> tuple[str, ast.Module] | None:
    """Return the text and the syntax tree of a Python file.

    Returns None if the file cannot be read.
    """
    import warnings  # deferred, because few commands read other files

    try:
        if path.stat().st_size > MAX_CODE_LENGTH:
            return None
        text = path.read_text("utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return text, ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
