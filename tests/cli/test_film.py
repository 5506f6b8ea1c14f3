"""`shapecalc film` and `--picture`: every op, every format."""

from __future__ import annotations

import json
import shlex

import pytest

from shapecalc.core.ops import OPS
from shapecalc.render.film import FORMATS

pytestmark = pytest.mark.sessions(6)


@pytest.mark.parametrize("op", OPS)
def test_film_and_picture_of_every_op(op, shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(OPS[op].examples[0])
    plain = shapecalc(*words)
    film, picture = shapecalc("film", *words, "-o", "x.html", "-q"), shapecalc(*words, "--picture", "x.svg")
    assert (plain.code, film.code, picture.code) == (0, 0, 0), film.err + picture.err
    assert (picture.out, picture.err) == (plain.out, f"shapecalc: x.svg: a picture\n{plain.err}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.html", "x.svg"]


MAGIC_BYTES = {".svg": b"<svg", ".gif": b"GIF89a", ".html": b"<!doctype html>"}


@pytest.mark.parametrize("ending", FORMATS)
def test_film_is_written_in_every_format(ending, shapecalc, tmp_path):
    file = tmp_path / f"x{ending}"
    ran = shapecalc("film", "reshape", "2,2", "4", "-o", str(file), "--theme", "dark", "--json")
    content = file.read_bytes()
    assert content.startswith(MAGIC_BYTES[ending])
    if ending == ".html":
        data = content.decode().partition('type="application/json">')[2].partition("</script>")[0]
        assert len(json.loads(data)["frames"]) == json.loads(ran.out)["film"]["frames"]
