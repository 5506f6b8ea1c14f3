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
        unpack_wheel(Path(folder), inside)
        (made,) = Distribution.discover(name=DISTRIBUTION, path=[str(inside)])
        for needed in packed(made).values():
            copy_files(needed, inside)
        (inside / "__main__.py").write_text(MAIN, "ascii")
        unchecked = PycInvalidationMode.UNCHECKED_HASH  # what is in a zip has no times to check by
        compileall.compile_dir(inside, quiet=2, legacy=True, invalidation_mode=unchecked)
        zipapp.create_archive(inside, file, "/usr/bin/env python3", compressed=True)


def unpack_wheel(folder, inside):
    """Build the wheel of this checkout and unpack what Python imports of it."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(inside, [name for name in wheel.namelist() if ".data/" not in name])


def packed(made):
    """Return the distributions that a distribution needs, by name, and those that these need."""
    found = {}
    for needed in needs(made):
        found |= {needed.name: needed} | packed(needed)
    return found


def needs(made):
    """Yield what a distribution needs without its extras, as far as it is installed here and runs in a zip."""
    for line in made.requires or []:
        name = re.match(r"[\w.-]+", line).group()
        if "extra ==" not in line and name not in LEFT_OUT:
            yield from Distribution.discover(name=name)


def copy_files(made, inside):
    """Copy the files of an installed distribution that Python imports from a zip, with what is said about it."""
    for file in made.files:
        if file.suffix not in COMPILED and ".." not in file.parts and file.locate().is_file():
            (inside / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.locate(), inside / file)


if __name__ == "__main__":
    make(sys.argv[1])
