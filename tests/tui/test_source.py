"""The screen of code: source and shapes side by side, inputs as fields, and the chain of a line as the picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapecalc.core.problem import ShapeError
from shapecalc.tui.app_commands import parse_code_command
from tests.tui.driven import driven

CODE = "def f(x, w):\n    b, n = x.shape[:2]\n    y = x.reshape(b, -1)\n    return y.t()\n"
KNOWN = parse_code_command([CODE, "x=2,3,4"])
MATMUL = parse_code_command(["def f(x, w):\n    y = x @ w\n    return y.reshape(-1)"])


@driven(opening=KNOWN)
async def test_source_shows_code_and_shapes_side_by_side(user):
    assert user.screen == "SourceScreen"
    line = next(line for line in user.lines if "x.reshape(b, -1)" in line)
    assert "y 2,12" in line
    assert " 2,3,4 ─▸ 12,2" in user.text


@driven(opening=KNOWN)
async def test_source_opens_the_chain_of_a_line_and_comes_back(user):
    await user.press("down")
    assert "╭─ Line 3 · y 2,12" in user.text
    await user.press("enter")
    assert user.command == "$ shapecalc chain '2,3,4 | reshape 2,-1 --dialect torch'"
    assert "esc code" in user.keys
    await user.press("escape")
    assert user.screen == "SourceScreen"
    assert "╭─ Line 3 · y 2,12" in user.text


@driven(opening=MATMUL)
async def test_source_asks_for_the_shapes_of_its_inputs(user):
    assert user.focus == "field-x"
    assert "'x': the shape of this tensor is not known" in user.text
    await user.type("2,3")
    await user.press("enter")
    assert user.focus == "field-w"
    await user.type("3,4")
    await user.press("enter")
    assert " 2,3 ─▸ 8" in user.text
    await user.press("e")
    assert user.focus == "field-x"
    await user.press("end", "backspace", "5")
    assert "✗ stage 1, matmul: 5 and 3 are summed together" in user.text


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40), (200, 60)])
@driven(opening=KNOWN)
async def test_source_keeps_all_parts_at_every_size(user, size):
    await user.resize(*size)
    for text in ("Code", "╭─ Source", "╭─ Line 2", "─▸ 12,2", "enter picture", "q quit"):
        assert text in user.text
    assert all(len(line) <= size[0] for line in user.lines)
    await user.resize(40, 10)
    assert "enlarge the terminal" in user.text


@driven(opening=KNOWN)
async def test_source_lines_are_chosen_by_keys_clicks_and_the_wheel(user):
    await user.press("end")
    assert "╭─ Line 4" in user.text
    await user.click("b, n = x.shape")
    assert "╭─ Line 2" in user.text
    await user.press("question_mark")
    assert "Open the chain of the line, step by step" in user.text


def test_code_is_found_in_words_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(CODE)
    command = parse_code_command(["net.py::f", "x=2,3,4"])
    assert (command.kind, command.content) == ("code", "net.py::f")
    assert parse_code_command(["reshape", "2,3", "6"]) is None
    with pytest.raises(ShapeError):
        parse_code_command(["missing.py"])
