#!/usr/bin/env bash
# A release, tried as it is: tests/release.sh [FOLDER] builds it, installs the wheel into an environment made of nothing,
# and runs the sdist's own tests on what the wheel holds.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}

python3 -m venv "$folder/made"
programs=$folder/made/bin
[ -d "$programs" ] || programs=$folder/made/Scripts
"$programs/python" -m pip install -q build
"$programs/python" -m build -o "$folder/dist"
wheel=$(echo "$folder"/dist/*.whl)
"$programs/python" -m pip install -q "$wheel[test]"

tar -xzf "$folder"/dist/*.tar.gz -C "$folder"
cd "$folder"/tensor_shapecalc-*/
rm -r shapecalc
"$programs/python" -m zipfile -e "$wheel" .
mkdir shapecalc/script # the wheel holds the entry point beside the package
mv _shapecalc_script.py shapecalc/script/
"$programs/python" -m pytest -q -p no:cacheprovider "${@:2}"
