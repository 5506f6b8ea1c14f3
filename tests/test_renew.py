"""What tests expect is renewed by one command, which leaves the rest as it is."""

from __future__ import annotations

import doctest

import pytest

from shapecalc.view.mdoc import unescaped
from tests import doctests, renew, sessions
from tests.changed_sentences import alike, edits_between, renewed
from tests.view import golden_pictures

PAGE = """.Bd -literal -offset indent
$ echo \\(aqa  b\\(aq
old
$ printf \\(aq%s\\n\\(aq same .c
same
old
.Ed
"""
MODULE = r'''
def double(number):
    r"""Double it.

    >>> double(2)
    5
    >>> double("a") + "\n"
    'aa\n'
    >>> print("a", "", "b", sep="\n")
    a
    >>> double(None)
    Traceback (most recent call last):
        ...
    TypeError: old
    """
    return number * 2
'''
TEST = """
SAID = [("reshape", "0 copies dim 1, which is 2"), ("other", "0 copies dim 1, which is 3")]

@pytest.mark.parametrize("said", [said for _, said in SAID])
def test_row(said):
    assert said.endswith("3") or "over dim 1, that" in said

def test_fails_for_another_reason():
    assert "2,12" == "2,13"

def test_written_out():
    number = 1
    assert ["0 takes over dim 1"] == [f"0 copies dim {number}"]
"""


@pytest.fixture
def golden_folder(tmp_path, monkeypatch):
    """Return a folder of golden pictures: one as it is drawn, one that is old, one of nothing, and one is missing."""
    monkeypatch.setattr(golden_pictures, "GOLDEN", tmp_path)
    monkeypatch.setattr(golden_pictures, "PICTURES", {name: lambda: "drawn" for name in ("same", "old", "new")})
    for name, text in (("same", "drawn\n"), ("old", "before\n"), ("gone", "drawn\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def texts(folder):
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_what_is_old_is_written_anew_and_told(golden_folder, capsys):
    assert renew.main(["golden"]) == 0
    assert texts(golden_folder) == dict.fromkeys(("same.txt", "old.txt", "new.txt"), "drawn\n")
    out = capsys.readouterr().out
    assert "--- old.txt\n+++ old.txt\n@@ -1 +1 @@\n-before\n+drawn\n" in out
    assert out.endswith("\n3 files changed\n")
    assert "same" not in out


def test_a_check_writes_nothing_and_fails(golden_folder, capsys):
    before = texts(golden_folder)
    assert renew.main(["golden", "--check"]) == 1
    assert texts(golden_folder) == before
    assert capsys.readouterr().out.endswith("\n3 files would change\n")


def test_of_an_unchanged_tree_nothing_is_renewed(capsys):
    assert renew.main(["--check", "golden"]) == 0
    assert capsys.readouterr().out == "0 files would change\n"


def test_a_kind_that_there_is_not_is_told(capsys):
    with pytest.raises(SystemExit):
        renew.main(["goldens"])
    assert "goldens is none of doctests, golden, " in capsys.readouterr().err


def test_the_sessions_of_a_page_are_run_and_lines_that_stay_keep_their_escapes(monkeypatch, tmp_path):
    monkeypatch.setattr(sessions, "run_in_new_folder", lambda session: sessions.run(session, tmp_path))
    now = sessions.renewed_page(PAGE)
    assert now == PAGE.replace("old", "a  b", 1).replace("\nold", "\n\\&.c")
    assert sessions.literal(now) == [unescaped(now).removeprefix(PAGE.splitlines(True)[0]).removesuffix(".Ed\n")]
    assert sessions.renewed_page(now) == now


def test_the_sessions_of_a_markdown_text_are_run(monkeypatch, tmp_path):
    monkeypatch.setattr(sessions, "run_in_new_folder", lambda session: sessions.run(session, tmp_path))
    text = "a\n```console\n$ echo 1; echo 2\n1\n$ true\nold\n```\n```sh\n$ echo 1\n```\n"
    assert sessions.renewed_markdown(text) == text.replace("old\n", "").replace("1\n$ true", "1\n2\n$ true")


def test_the_examples_of_a_docstring_are_run():
    names = {}
    exec(MODULE, names)
    tests = doctest.DocTestFinder().find(names["double"], "double", globs=names)
    now = doctests.with_results(MODULE, tests)
    none = "unsupported operand type(s) for *: 'NoneType' and 'int'"
    after = MODULE.replace("    5\n", "    4\n").replace("TypeError: old", f"TypeError: {none}")
    assert now == after.replace("    a\n    >>>", "    a\n    <BLANKLINE>\n    b\n    >>>")


def test_the_words_that_changed_are_found_with_what_stands_beside_them():
    old, new = "0 copies dim \0\0, which is \0", "0 takes over dim \0\0, that is \0"
    assert alike(old, new) > alike(old, "0 is a dim of size zero")
    said = "the 0 copies dim 3, c; which one copies? one which is lit"
    for edit in edits_between(old, new):
        said = edit.apply(said)
    assert said == "the 0 takes over dim 3, c; which one copies? one that is lit"


def test_only_the_literals_of_tests_that_fail_get_the_words_that_changed(tmp_path, monkeypatch):
    file = tmp_path / "tests" / "test_made.py"
    file.parent.mkdir()
    file.write_text(f"import pytest\n{TEST}")
    sentences = [("0 copies dim \0, which is \0", "0 takes over dim \0, that is \0")]
    monkeypatch.setattr("tests.changed_sentences.changed", lambda _root: sentences)
    ((found, text),) = renewed(tmp_path)
    assert found == file
    row = TEST.replace("copies dim 1, which is 2", "takes over dim 1, that is 2", 1)
    assert text == f"import pytest\n{row}".replace("copies dim {number}", "takes over dim {number}")
