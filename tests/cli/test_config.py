"""Defaults for dialect and opset: where they are looked for, what they change, and who takes none."""

from __future__ import annotations

import json
import os

import pytest

import shapecalc as sc

NUMPY = '[tool.shapecalc]\ndialect = "numpy"\n'
FROM_FILE = "shapecalc: dialect numpy, set in pyproject.toml\n"
FROM_ABOVE = f"shapecalc: dialect numpy, set in {os.path.join('..', '..', 'pyproject.toml')}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes the `pyproject.toml` of the folder in which commands run."""
    monkeypatch.chdir(tmp_path)

    def write(text, folder="."):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())

    return write


def test_a_default_answers_and_is_told(shapecalc, project):
    project(NUMPY)
    ran = shapecalc("reshape", "2,3,4", "6,-2")
    assert (ran.code, ran.out, ran.err) == (0, "6,4\n", FROM_FILE)
    assert shapecalc("reshape", "2,3,4", "6,-2", "--no-config").code == 3


def test_it_answers_as_the_option_does(shapecalc, project):
    project(NUMPY)
    by_option = shapecalc("reshape", "2,3,4", "6,-2", "--json", "-d", "numpy")
    directly = shapecalc("reshape", "2,3,4", "6,-2", "--json")
    assert (directly.out, directly.err, by_option.err) == (by_option.out, FROM_FILE, "")
    assert shapecalc("reshape", "2,3,4", "6,-2", "--no-config").code == 3


def test_the_option_comes_first_then_the_environment_then_the_file(shapecalc, project, monkeypatch):
    project('[tool.shapecalc]\ndialect = "numpy"\nopset = 5\n')
    monkeypatch.setenv("SHAPECALC_DIALECT", "ort")
    ran = shapecalc("reshape", "2,3", "6", "--json")
    assert (json.loads(ran.out)["dialect"], json.loads(ran.out)["version"]) == ("onnxruntime", 5)
    assert "dialect onnxruntime, set in SHAPECALC_DIALECT\nshapecalc: opset 5, set in pyproject.toml\n" in ran.err
    monkeypatch.setenv("SHAPECALC_OPSET", "13")
    assert json.loads(shapecalc("reshape", "2,3", "6", "--json").out)["version"] == 13
    ran = shapecalc("reshape", "2,3", "6", "--json", "-d", "onnx", "--opset", "14")
    assert (json.loads(ran.out)["version"], ran.err) == (14, "")


def test_a_variable_that_is_empty_sets_nothing(shapecalc, project, monkeypatch):
    project(NUMPY)
    monkeypatch.setenv("SHAPECALC_DIALECT", "")
    assert shapecalc("reshape", "2,3,4", "6,-2").err == FROM_FILE


def test_the_nearest_file_counts_and_no_other(shapecalc, project, monkeypatch, tmp_path):
    project(NUMPY)
    project("[tool.other]\n", "near/inner")
    (tmp_path / "far/pyproject.toml").mkdir(parents=True)
    (tmp_path / "far/inner").mkdir()
    monkeypatch.chdir(tmp_path / "far/inner")
    assert shapecalc("reshape", "2,3,4", "6,-2").err == FROM_ABOVE
    monkeypatch.chdir(tmp_path / "near/inner")
    assert shapecalc("reshape", "2,3,4", "6,-2").code == 3


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


def test_a_default_that_changes_nothing_is_not_told(shapecalc, project):
    project('[tool.shapecalc]\ndialect = "onnx"\nopset = 25\n')
    assert shapecalc("reshape", "2,3", "6").err == ""
    ran = shapecalc("shuffle", "2,3", "--to", "6")
    assert (ran.code, ran.out) == (2, "")
    assert "dialect onnx, set in pyproject.toml" in ran.err
    assert "onnx has no shuffle" in ran.err


def test_the_options_of_a_stage_and_of_its_chain_come_before_it(shapecalc, project):
    project('[tool.shapecalc]\ndialect = "openvino"\nopset = 13\n')
    ran = shapecalc("chain", "2,3 | reshape 0,-1 | reshape 6 -d numpy", "--special-zero", "--json")
    assert [stage["dialect"] for stage in json.loads(ran.out)["stages"]] == ["openvino", "numpy"]
    assert ran.err == "shapecalc: dialect openvino, set in pyproject.toml\n"
    ran = shapecalc("chain", "2,3 | reshape 0,-1 -d onnx | transpose", "-d", "numpy", "--json")
    assert [stage["version"] for stage in json.loads(ran.out)["stages"]] == [13, None]
    assert ran.err == "shapecalc: opset 13, set in pyproject.toml\n"


def test_equiv_simplify_and_the_prompt_take_it(shapecalc, project):
    project(NUMPY)
    ran = shapecalc("equiv", "2,3 | reshape 6,-2", "| reshape 6,1")
    assert (ran.code, ran.err) == (0, FROM_FILE)
    assert shapecalc("equiv", "2,3 | reshape 6,-2", "| reshape 6,1", "--no-config").code == 3
    ran = shapecalc("simplify", "2,3 | reshape 6,-2 | reshape 2,3")
    assert ran.err.startswith(FROM_FILE)
    ran = shapecalc("repl", stdin="2,3\nreshape 6,-2\ndialect onnx\nreshape 6,-2\n")
    assert (ran.code, ran.out) == (3, "2,3\n6,1\n")
    assert ran.err.startswith(f"{FROM_FILE}asking onnx\n")


def test_compare_takes_the_opset(shapecalc, project):
    project("[tool.shapecalc]\nopset = 4\n")
    ran = shapecalc("compare", "2,3", "6", "-d", "onnx", "--json")
    assert json.loads(ran.out)["rows"][0]["version"] == 1
    assert ran.err == "shapecalc: opset 4, set in pyproject.toml\n"
    assert shapecalc("compare", "2,3", "6", "-d", "numpy").err == "shapecalc: the dialects agree\n"


BAD = [
    ("dialect = 'torhc'", "there is no dialect 'torhc' (did you mean torch?)"),
    ("dialect = 3", "dialect is a name, not 3"),
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


def test_a_bad_variable_is_one_line_that_names_it(shapecalc, monkeypatch):
    monkeypatch.setenv("SHAPECALC_OPSET", "x\x1b")
    ran = shapecalc("chain", "2,3 | reshape 6", "--json")
    assert (ran.code, ran.err) == (2, "")
    message = json.loads(ran.out)["problem"]["message"]
    assert message == "SHAPECALC_OPSET: opset is one whole number, not 'x\\x1b'"


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


def test_a_file_is_parsed_only_if_its_text_has_the_table(shapecalc, project, monkeypatch):
    project("this is no TOML at all")
    assert shapecalc("reshape", "2,3", "6").out == "6\n"
    monkeypatch.setenv("SHAPECALC_OPSET", "13")
    assert shapecalc("reshape", "2,3", "6").out == "6\n"


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
