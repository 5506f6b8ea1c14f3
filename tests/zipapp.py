"""Build a zipapp of shapecalc: `python -m tests.zipapp FILE`.

The file contains the files of the wheel and the installed dependencies. NumPy is excluded, because compiled modules
cannot be imported from a zip; the commands that need it print what to install.
"""

from __future__ import annotations

import compileall
import re
import shutil
import subprocess
import sys
import zipapp
from importlib.metadata import Distribution
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
NAME = "shapecalc"
DISTRIBUTION = "tensor-shapecalc"
EXCLUDED_PACKAGES = ("numpy", "pydantic")
"""The excluded packages, which contain compiled modules. No command uses pydantic, a dependency of Typer."""
COMPILED = (".so", ".pyd", ".dylib", ".pyc")
LEXERS = Path("pygments/lexers")
INCLUDED_LEXERS = ("__init__.py", "_mapping.py", "python.py")
"""The files of Pygments lexers that are included; shapecalc does not highlight code."""
MAIN = """\
import os
import sys

here = os.path.abspath(sys.path[0])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))  # for worker processes

from _shapecalc_script import main

sys.exit(main())
"""


def build_zipapp(file):
    """Write the program to an executable zip file."""
    with TemporaryDirectory() as folder:
        inside = Path(folder, NAME)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        with ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wheel.extractall(inside, [name for name in wheel.namelist() if ".data/" not in name])
        (distribution,) = Distribution.discover(name=DISTRIBUTION, path=[str(inside)])
        for dependency in find_dependencies(distribution).values():
            for part in dependency.files:  # modules and metadata
                if is_included(part) and part.locate().is_file():
                    (inside / part).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(part.locate(), inside / part)
        (inside / "__main__.py").write_text(MAIN, "ascii")
        unchecked = PycInvalidationMode.UNCHECKED_HASH  # zip entries have no reliable modification times
        compileall.compile_dir(inside, quiet=2, legacy=True, invalidation_mode=unchecked)
        zipapp.create_archive(inside, file, "/usr/bin/env python3", compressed=True)


def is_included(part):
    """Return whether a file of a dependency is included."""
    is_unused_lexer = part.parent == LEXERS and part.name not in INCLUDED_LEXERS
    return part.suffix not in COMPILED and ".." not in part.parts and not is_unused_lexer


def find_dependencies(distribution):
    """Return the dependencies of a distribution by name, transitively, without extras and excluded packages."""
    dependencies = {}
    for line in distribution.requires or []:
        name = re.match(r"[\w.-]+", line).group()
        if "extra ==" in line or name in EXCLUDED_PACKAGES:
            continue
        for dependency in Distribution.discover(name=name):
            dependencies |= {dependency.name: dependency} | find_dependencies(dependency)
    return dependencies


if __name__ == "__main__":
    build_zipapp(sys.argv[1])
