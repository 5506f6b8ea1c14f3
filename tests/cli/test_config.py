"""Defaults for dialect and opset: where they are looked for, what they change, and who takes none."""

from __future__ import annotations

import json
import os

import pytest

import shapecalc as sc

NUMPY = '[tool.shapecalc]\ndialect = "numpy"\n'
FROM_FILE = "shapecalc: dialect numpy, set in pyproject.toml\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes the `pyproject.toml` of the folder in which commands run."""
    monkeypatch.chdir(tmp_path)

    def write(text, folder="."):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())

    return write


@pytest.mark.parametrize(
    "words",
    [
        ["reshape", "2,3", "6", "-q"],
        ["reshape", "2,3", "6", "-d", "onnx"],
        ["transpose", "2,3", "--dialect", "torch"],
        ["chain", "2,3 | reshape 6 -d onnx"],
        ["code", "x.reshape(6)", "--input", "x=2,3"],
        ["check", "-"],
        ["vectors", "--dialect", "onednn"],
        ["compare", "2,3", "6"],
        ["find", "2,3", "3,2", "-q"],
        ["doctor", "-q"],
        ["why", "infer"],
        ["dialects"],
    ],
)
def test_who_takes_no_default_says_the_same_and_tells_none(words, shapecalc, project):
    without = shapecalc(*words, stdin="reshape 2,3,4 6,-2 => error\n")
    project(NUMPY)
    assert shapecalc(*words, stdin="reshape 2,3,4 6,-2 => error\n") == without


def test_python_takes_none(project, monkeypatch):
    project(NUMPY)
    monkeypatch.setenv("SHAPECALC_OPSET", "5")
    trace = sc.reshape((2, 3), (6,))
    assert (trace.dialect, trace.version) == ("onnx", 25)


BAD = [
    ("dialect = 'torhc'", "there is no dialect 'torhc' (did you mean torch?)"),
    ("dialect = 3", "there is no dialect '3'"),
    ("opset = 0", "opsets run from 1 to 28, and this is 0"),
    ("opset = true", "opset is one whole number, not True"),
    ("opset = 1.5", "opset is one whole number, not 1.5"),
    ("opsets = 13", "tool.shapecalc has no opsets (did you mean opset?)"),
    ("opset = ", "it is not TOML: Invalid value (at line 2, column 9)"),
    ("[[tool.shapecalc]]", "it is not TOML: "),
    ("'\\u001b[31m' = 1", "tool.shapecalc has no "),
    (f"opset = {'[' * 10_000}", "it is not TOML: "),
    (f"opset = {'9' * 5_000}", "it is not TOML: "),
    (b"opset = '\xff'", "it is not TOML: "),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=lambda each: str(each)[:30])
def test_a_bad_file_is_one_line_that_names_it(line, message, shapecalc, project):
    project(b"[tool.shapecalc]\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    ran = shapecalc("reshape", "2,3", "6")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"shapecalc: usage: pyproject.toml: {message}")
    assert ran.err.removesuffix("\n").isprintable()
    assert shapecalc("reshape", "2,3", "6", "--no-config").out == "6\n"


@pytest.mark.parametrize(
    "text",
    [
        "[ tool . shapecalc ]\ndialect = 'numpy'",
        "['tool'.\"shapecalc\"]\ndialect = 'numpy'",
        "[tool]\nshapecalc.dialect = 'numpy'",
        "[tool]\nshapecalc = { dialect = 'numpy' }",
        "tool.shapecalc.dialect = 'numpy'",
        "tool = { shapecalc = { dialect = 'numpy' } }",
    ],
)
def test_the_table_is_read_however_toml_writes_it(text, shapecalc, project):
    project(text)
    ran = shapecalc("reshape", "2,3", "0,-1", "--json")
    assert (ran.code, json.loads(ran.out)["problem"]["rule"]) == (3, "zero-volume-infer")


@pytest.mark.parametrize(
    "text", ["# [tool.shapecalc]\n", 'x = "[tool.shapecalc"\n[tool.shapecalc-else]\ny = 1', "tool = 3 #[tool.shapecalc"]
)
def test_a_file_without_the_table_sets_nothing(text, shapecalc, project):
    project(text)
    ran = shapecalc("reshape", "2,3", "6")
    assert (ran.code, ran.out, ran.err) == (0, "6\n", "")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads what nobody may read")
def test_a_file_that_cannot_be_read_is_exit_4(shapecalc, project, tmp_path):
    project(NUMPY)
    (tmp_path / "pyproject.toml").chmod(0)
    ran = shapecalc("reshape", "2,3", "6")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "shapecalc: file: pyproject.toml: Permission denied (--no-config leaves it out)\n"


def test_a_folder_that_was_deleted_has_none(tmp_path, monkeypatch, shapecalc):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert shapecalc("reshape", "2,3", "6").out == "6\n"
    monkeypatch.chdir(tmp_path)


def test_the_app_opens_with_it():
    from shapecalc.tui.question import command, question_of

    defaults = {"dialect": "numpy", "opset": 13}
    opened = {
        "reshape 2,3 6": "shapecalc reshape 2,3 6 --dialect numpy",
        "reshape 2,3 6 -d onnx": "shapecalc reshape 2,3 6 --dialect onnx --opset 13",
    }
    for line, shown in opened.items():
        assert command(question_of(line.split(), defaults), None) == shown
    chain = question_of(["chain", "2,3 | reshape 6 -d torch | reshape 2,3"], defaults)
    assert chain.texts["stages"] == "reshape 6 --dialect torch | reshape 2,3 --dialect numpy"
    pair = question_of(["equiv", "2,3 | reshape 6", "| resh"], defaults)
    assert (pair.texts["stages"], pair.second_chain) == ("reshape 6 --dialect numpy", "| resh")
    assert question_of([], defaults) == question_of([])


OPENED = [
    ([], "", ""),
    (["reshape", "2,3", "6"], "reshape 2,3 6 --dialect numpy", FROM_FILE),
    (["reshape", "2,3", "6", "-d", "torch"], "reshape 2,3 6 --dialect torch", ""),
    (["chain", "2,3 | reshape 6"], "chain '2,3 | reshape 6 --dialect numpy'", FROM_FILE),
    (["chain", "2,3 | resh"], "chain '2,3 | resh'", ""),
]


@pytest.mark.parametrize(("words", "line", "told"), OPENED)
def test_tui_and_serve_open_with_it_and_tell_it_before(words, line, told, project, capsys):
    from shapecalc.__main__ import TerminalApp
    from shapecalc.cli.output import Output
    from shapecalc.cli.terminal import opening_question
    from shapecalc.tui.question import FIRST, command

    project(NUMPY)
    question = opening_question(TerminalApp(), words, Output())
    assert question == FIRST if not words else command(question, None) == f"shapecalc {line}"
    assert capsys.readouterr().err == told
    plain = opening_question(TerminalApp(), words, Output(no_config=True))
    assert "numpy" not in command(plain, None)
    assert capsys.readouterr().err == ""
