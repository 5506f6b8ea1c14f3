"""Defaults for dialect and opset: commands without them, unreadable files. See also `transcripts/config.txt`."""

from __future__ import annotations

import os
import shlex

import pytest
from platformdirs import user_config_path

import shapecalc as sc
from shapecalc.__main__ import TextualApp
from shapecalc.cli import output
from shapecalc.cli.output import OutputOptions
from shapecalc.cli.terminal import read_opening_question
from shapecalc.tui.question import EXAMPLE_QUESTION, question_command, question_from_words
from tests.cli.conftest import rows

NUMPY = '[tool.shapecalc]\ndialect = "numpy"\n'


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return the path of `pyproject.toml` in the working folder; the file does not exist yet."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pyproject.toml"


@pytest.mark.parametrize("line", [line for (line,) in rows("without_defaults.txt")])
def test_defaults_do_not_reach_commands_without_them(line, shapecalc, file):
    without = shapecalc(*shlex.split(line), stdin="reshape 2,3,4 6,-2 => error\n")
    file.write_text(NUMPY)
    assert shapecalc(*shlex.split(line), stdin="reshape 2,3,4 6,-2 => error\n") == without


def test_defaults_do_not_reach_python(file, monkeypatch):
    file.write_text(NUMPY)
    monkeypatch.setenv("SHAPECALC_OPSET", "5")
    trace = sc.reshape((2, 3), (6,))
    assert (trace.dialect, trace.version) == ("onnx", 25)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root can read a file of mode 0")
def test_defaults_unreadable_file_is_exit_4(shapecalc, file):
    file.write_text(NUMPY)
    file.chmod(0)
    ran = shapecalc("reshape", "2,3", "6")
    message = "shapecalc: file: pyproject.toml: permission denied (--no-config leaves it out)\n"
    assert (ran.code, ran.out, ran.err) == (4, "", message)


def test_defaults_in_a_deleted_folder_are_empty(tmp_path, monkeypatch, shapecalc):
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert shapecalc("reshape", "2,3", "6").out == "6\n"
    monkeypatch.chdir(tmp_path)


def test_defaults_open_in_the_app():
    defaults = {"dialect": "numpy", "opset": 13}
    opened = question_command(question_from_words(["reshape", "2,3", "6", "-d", "onnx"], defaults), None)
    assert opened == "shapecalc reshape 2,3 6 --dialect onnx --opset 13"
    chain = question_from_words(["chain", "2,3 | reshape 6 -d torch | reshape 2,3"], defaults)
    assert chain.texts["stages"] == "reshape 6 --dialect torch | reshape 2,3 --dialect numpy"
    pair = question_from_words(["equiv", "2,3 | reshape 6", "| resh"], defaults)
    assert (pair.texts["stages"], pair.second_chain) == ("reshape 6 --dialect numpy", "| resh")
    assert question_from_words([], defaults) == question_from_words([])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        ("reshape 2,3 6", "reshape 2,3 6 --dialect numpy"),
        ("reshape 2,3 6 -d torch", "reshape 2,3 6 --dialect torch"),
        ("chain '2,3 | reshape 6'", "chain '2,3 | reshape 6 --dialect numpy'"),
        ("chain '2,3 | resh'", "chain '2,3 | resh'"),
    ],
)
def test_defaults_are_reported_before_tui_and_serve(line, expected, file, capsys):
    file.write_text(NUMPY)
    question = read_opening_question(TextualApp(), shlex.split(line), OutputOptions())
    assert question == EXAMPLE_QUESTION if not line else question_command(question, None) == f"shapecalc {expected}"
    message = "shapecalc: dialect numpy, set in pyproject.toml\n" if "numpy" in expected else ""
    assert capsys.readouterr().err == message
    plain = read_opening_question(TextualApp(), shlex.split(line), OutputOptions(no_config=True))
    assert "numpy" not in question_command(plain, None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("home", ["", "relative", "/xdg"])
def test_user_config_path_is_the_folder_of_platformdirs(home, monkeypatch):
    monkeypatch.delenv("SHAPECALC_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", home)
    expected = user_config_path("shapecalc", appauthor=False) / "config.toml"
    assert output.user_config_path() == str(expected)


def test_user_config_does_not_reach_commands_without_defaults(shapecalc, tmp_path, monkeypatch):
    config = tmp_path / "c.toml"
    monkeypatch.setenv("SHAPECALC_CONFIG", str(config))
    lines = [line for (line,) in rows("without_defaults.txt")]
    before = [shapecalc(*shlex.split(line), stdin="reshape 2,3,4 6,-2 => error\n") for line in lines]
    config.write_text('dialect = "numpy"\n')
    assert [shapecalc(*shlex.split(line), stdin="reshape 2,3,4 6,-2 => error\n") for line in lines] == before
    assert sc.reshape((2, 3), (6,)).dialect == "onnx"
    assert shapecalc("reshape", "2,3,4", "6,-2").out == "6,4\n"


def test_user_config_reaches_the_app():
    app = TextualApp()
    app.configure({"theme": "light", "keys": {"fix": "x", "edit": ";", "tint": "ctrl+t"}}, "c.toml")
    settings = app._settings
    assert settings["theme"] == "light"
    assert [(key.label, key.name, key.display) for key in settings["keys"] if key.label in ("fix", "edit", "tint")] == [
        ("fix", "x", "x"),
        ("edit", "semicolon", ";"),
        ("tint", "ctrl+t", "^T"),
    ]
