"""Makes shapecalc one file: `python -m tests.zipapp FILE`.

The file holds the package as its wheel does, and what it needs as it is installed here. NumPy is left out, since it is
compiled: the commands that need it say what to install.
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
LEFT_OUT = ("numpy", "pydantic")
"""What is compiled, so that no zip can hold it, or needs what is. The commands here never use Typer's pydantic."""
COMPILED = (".so", ".pyd", ".dylib", ".pyc")
LEXERS = Path("pygments/lexers")
LANGUAGES = ("__init__.py", "_mapping.py", "python.py")
"""Of the files of languages in which Rich can colour code, those that are packed: nothing here colours code."""
MAIN = """\
import os
import sys

here = os.path.abspath(sys.path[0])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))  # for its own processes

from shapecalc.__main__ import main

sys.exit(main())
"""


def make(file):
    """Write the whole program into a file that Python runs."""
    with TemporaryDirectory() as folder:
        inside = Path(folder, NAME)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        with ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wheel.extractall(inside, [name for name in wheel.namelist() if ".data/" not in name])
        (made,) = Distribution.discover(name=DISTRIBUTION, path=[str(inside)])
        for needed in packed(made).values():
            for part in needed.files:  # what Python imports from a zip, with what is said about it
                if is_packed(part) and part.locate().is_file():
                    (inside / part).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(part.locate(), inside / part)
        (inside / "__main__.py").write_text(MAIN, "ascii")
        unchecked = PycInvalidationMode.UNCHECKED_HASH  # what is in a zip has no times to check by
        compileall.compile_dir(inside, quiet=2, legacy=True, invalidation_mode=unchecked)
        zipapp.create_archive(inside, file, "/usr/bin/env python3", compressed=True)


def is_packed(part):
    """Say whether a file of what is needed is for the one file."""
    language = part.parent == LEXERS and part.name not in LANGUAGES
    return part.suffix not in COMPILED and ".." not in part.parts and not language


def packed(made):
    """Return what a distribution needs without its extras, and what that needs, as far as it runs in a zip, by name."""
    found = {}
    for line in made.requires or []:
        name = re.match(r"[\w.-]+", line).group()
        for needed in Distribution.discover(name=name) if "extra ==" not in line and name not in LEFT_OUT else ():
            found |= {needed.name: needed} | packed(needed)
    return found


if __name__ == "__main__":
    make(sys.argv[1])
