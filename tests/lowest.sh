#!/usr/bin/env bash
# Fast tests with the lowest version of everything that pyproject.toml allows, and with the newest:
# tests/lowest.sh [FOLDER [lowest|newest]]. CuPy is left out, since it needs a GPU; types are for .ci/run, since they
# depend on NumPy's. Windows, which has no termios, runs the tests that need no such terminal.
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

for name in ${2:-lowest newest}; do
    python3 -m venv "$folder/$name"
    programs=$folder/$name/bin
    [ -d "$programs" ] || programs=$folder/$name/Scripts
    PIP_CONSTRAINT="$folder/$name.txt" "$programs/python" -m pip install -q --upgrade --upgrade-strategy eager -e '.[dev]'
    "$programs/ruff" check -q
    chosen=(shapecalc tests/core tests/cli/test_{ops,typer,parameters,split_shapes,repl}.py tests/tui/test_state.py)
    chosen+=(tests/cli/test_{film,match,missing}.py tests/render/test_film_files.py tests/test_release.py)
    if "$programs/python" -c 'import termios' 2>/dev/null; then
        chosen+=(tests/cli/test_{completion,serve,drill}.py tests/man tests/tui/test_{parameters,side}.py tests/cli/test_transcripts.py)
        chosen+=(tests/engine/test_files.py tests/engines/test_onnx.py tests/cli/test_mcp.py tests/models tests/teaching)
        chosen+=(tests/engine/stores tests/cli/test_{stores,clusters}.py)
    fi
    "$programs/python" -m pytest -q -p no:cacheprovider -m 'not slow' "${chosen[@]}"
done
