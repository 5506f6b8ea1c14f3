"""Find and parse the files that Python code imports from its own package.

The files are never executed.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache

from shapecalc.core.limits import MAX_CODE_LENGTH
from shapecalc.core.record import Record, replace
from shapecalc.reading.code.library_sources import IDENTIFYING_IMPORTS, LIBRARY_SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

KNOWN_LIBRARIES = {
    *("torch", "numpy", "jax", "jaxlib", "tensorflow", "keras", "paddle", "mxnet", "openvino", "einops", "scipy"),
    *("cupy", "functorch", "triton"),
}
"""The libraries that the interpreter knows. Their files are not read."""
MATH_NAMES = tuple([name for name in vars(math) if not name.startswith("_")])
"""The names that `from math import *` binds."""
MAX_FILES = 64
"""The maximum number of imported files that are read."""


class ImportedName(Record):
    """A name that `from MODULE import NAME` binds."""

    module: str
    level: int
    """The number of leading dots in the module name."""
    name: str


@lru_cache(maxsize=4)
def walk_tree(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a syntax tree.

    The result is cached, because the walk costs as much as parsing.
    """
    return tuple(ast.walk(tree))


@lru_cache(maxsize=4)
def imported_names(tree: ast.AST) -> dict[str, ImportedName]:
    """Return the imported names in code, keyed by the name to which each is bound.

    `from math import *` binds all of `MATH_NAMES`.
    """
    names = {}
    for node in walk_tree(tree):
        if isinstance(node, ast.ImportFrom):
            is_math = (node.module, node.level) == ("math", 0)
            for alias in node.names:
                for name in MATH_NAMES if is_math and alias.name == "*" else [alias.name]:
                    names[alias.asname or name] = ImportedName(node.module or "", node.level, name)
    return names


@lru_cache(maxsize=64)
def module_aliases(tree: ast.AST) -> dict[str, str]:
    """Map each name that `import MODULE as NAME` binds to the full name of the module."""
    aliases = [alias for node in walk_tree(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {alias.asname: alias.name for alias in aliases if alias.asname and alias.asname != alias.name}


def find_module(path: Path, imported: ImportedName) -> Path | None:
    """Return the file of a module that the file `path` imports.

    A relative import is resolved from the folder of the file. An absolute import is resolved from the folder that
    contains the outermost package. A file outside of a package uses its own folder and the parent of that folder.
    Returns None for a module of Python or of a supported library.
    """
    folder, parts = path.parent, imported.module.split(".") if imported.module else []
    folders = [folder, folder.parent]
    if imported.level:
        for _ in range(imported.level - 1):
            folder = folder.parent
        folders = [folder]
    elif not parts or parts[0] in KNOWN_LIBRARIES or parts[0] in sys.stdlib_module_names:
        return None
    elif (package := _outermost_package(folder)) is not None:
        folders = [package.parent]
    targets = [start.joinpath(*parts) for start in folders]
    candidates = [
        file for target in targets for file in (target.with_suffix(".py"), target / "__init__.py")[not parts :]
    ]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def find_imported_module(path: Path, imported: ImportedName) -> Path | None:
    """Return the file of a module that `from PACKAGE import MODULE` binds, or None."""
    name = f"{imported.module}.{imported.name}".lstrip(".")
    return find_module(path, replace(imported, module=name))


def _outermost_package(folder: Path) -> Path | None:
    """Return the outermost package folder that contains a file, or None."""
    packages = [*_iter_enclosing_packages(folder)]
    return packages[-1] if packages else None


def _iter_enclosing_packages(folder: Path) -> Iterator[Path]:
    while (folder / "__init__.py").is_file():
        yield folder
        folder = folder.parent


def find_library(imports: Mapping[str, ImportedName], imported: ImportedName) -> str:
    """Return the library of an imported name, as a key of `LIBRARY_SOURCES`.

    Returns an empty string for an unknown library. `imports` are all imports of the file.
    """
    if not imported.level:
        root = imported.module.partition(".")[0]
        return root if root in LIBRARY_SOURCES else imported.module
    roots = [name.module.partition(".")[0] for name in imports.values() if not name.level]
    marks = [IDENTIFYING_IMPORTS[name] for name in imports if name in IDENTIFYING_IMPORTS]
    return next((root for root in (*marks, *roots) if root in LIBRARY_SOURCES), "")


def read_module(path: Path) -> tuple[str, ast.Module] | None:
    """Return the text and the syntax tree of a Python file.

    Returns None if the file cannot be read.
    """
    import warnings  # imported here, because few commands read other files

    try:
        if path.stat().st_size > MAX_CODE_LENGTH:
            return None
        text = path.read_text("utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return text, ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
