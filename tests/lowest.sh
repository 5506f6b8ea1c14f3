#!/usr/bin/env bash
# Fast tests with the lowest version of everything that pyproject.toml allows, and with the newest:
# tests/lowest.sh [FOLDER]. CuPy is left out, since it needs a GPU; types are for .ci/run, since they depend on NumPy's.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"

python3 - > "$folder/lowest.txt" <<'PYTHON'
import re, tomllib
from pathlib import Path

stated = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
extras = stated["project"]["optional-dependencies"]
lines = [*stated["build-system"]["requires"], *stated["project"]["dependencies"], *sum(extras.values(), [])]
bounds = [re.match(r"([\w-]+)>=([\d.]+)", line) for line in lines if not line.startswith("cupy")]
print(*sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound}), sep="\n")
PYTHON
: > "$folder/newest.txt"

for name in lowest newest; do
    python3 -m venv "$folder/$name"
    PIP_CONSTRAINT="$folder/$name.txt" "$folder/$name/bin/pip" install -q --upgrade --upgrade-strategy eager -e '.[dev]'
    "$folder/$name/bin/ruff" check -q
    "$folder/$name/bin/python" -m pytest -q -p no:cacheprovider -m 'not slow' shapecalc \
        tests/core/test_{imports,defaults}.py tests/cli/test_{typer,parameters,completion,direct,serve}.py tests/man \
        tests/tui/test_{state,parameters,dialogs}.py tests/engine/test_files.py tests/engines/test_onnx.py
done
