"""`tests.renew` updates expected output, and leaves everything else unchanged."""

from __future__ import annotations

import doctest
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from shapecalc.render.mdoc import remove_escapes
from tests import doctests, renew, sessions, transcripts
from tests.render import golden_pictures

PAGE = """.Bd -literal -offset indent
$ echo \\(aqa  b\\(aq
old
$ printf \\(aq%s\\n\\(aq same .c
same
old
.Ed
.Bd -literal
>>> 1 + 1
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
import pytest
from pathlib import Path
from tests.transcripts import matches_expected, transcripts

@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", r"\\$|!"))
def test_seen(lines):
    assert matches_expected("\\n".join(line.text for line in lines if line.sign == ""), "first\\nsecond 2\\nthird\\n")
    assert matches_expected(next(line.text.partition(" ")[2] for line in lines if line.sign == "!"), "said\\n")
"""


@pytest.fixture
def golden_folder(tmp_path, monkeypatch):
    """Return a folder of golden pictures: one up-to-date file, and one with stale and missing pictures."""
    monkeypatch.setattr(renew, "GOLDEN", tmp_path)
    monkeypatch.setitem(golden_pictures.DRAWS, "flow", lambda answer, **options: f"drawn {answer.output} {options}")
    (tmp_path / "same.txt").write_text("$ flow: reshape 2,3 6\ndrawn (6,) {}\n")
    (tmp_path / "old.txt").write_text("$ flow at=1: reshape 2,3 6\nbefore\n\n$ flow: transpose 2,3\n")
    return tmp_path


def texts(folder):
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_renew_rewrites_and_reports_unless_checking(golden_folder, capsys):
    before = texts(golden_folder)
    assert renew.main(["golden", "--check"]) == 1
    assert texts(golden_folder) == before
    assert capsys.readouterr().out.endswith("\n1 file would change\n")
    assert renew.main(["golden"]) == 0
    drawn = "$ flow at=1: reshape 2,3 6\ndrawn (6,) {'at': 1}\n\n$ flow: transpose 2,3\ndrawn (3, 2) {}\n"
    assert texts(golden_folder) == {**before, "old.txt": drawn}
    out = capsys.readouterr().out
    assert "--- old.txt\n+++ old.txt\n@@ -2 +2 @@\n-before\n+drawn (6,) {'at': 1}\n" in out
    assert out.endswith("\n1 file changed\n")
    assert renew.main(["--check", "golden"]) == 0
    assert capsys.readouterr().out == "0 files would change\n"


def test_renew_unknown_name_is_reported(capsys):
    with pytest.raises(SystemExit):
        renew.main(["goldens"])
    assert "goldens is none of doctests, golden, " in capsys.readouterr().err


@pytest.fixture
def session_folder(tmp_path, monkeypatch):
    """Run sessions in an empty folder."""
    monkeypatch.setattr(sessions, "make_session_folder", lambda _folder: tmp_path)


@pytest.mark.usefixtures("session_folder")
def test_renew_manual_sessions_keep_escapes():
    updated = sessions.update_page(PAGE)
    assert updated == PAGE.replace("old", "a  b", 1).replace("\nold", "\n\\&.c", 1).replace("\nold", "\n2")
    assert (
        sessions.literal_blocks(updated)[0]
        == remove_escapes(updated).removeprefix(PAGE.splitlines(True)[0]).partition(".Ed\n")[0]
    )
    assert sessions.update_page(updated) == updated


@pytest.mark.usefixtures("session_folder")
def test_renew_markdown_sessions():
    text = "a\n```console\n$ echo 1; echo 2\n1\n$ true\nold\n```\n```sh\n$ echo 1\n```\n"
    assert sessions.update_markdown(text) == text.replace("old\n", "").replace("1\n$ true", "1\n2\n$ true")


def test_renew_doctests(tmp_path):
    (tmp_path / "made.py").write_text(MODULE)
    spec = spec_from_file_location("made", tmp_path / "made.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    updated = doctests.update_examples(MODULE, doctest.DocTestFinder().find(module))
    message = "unsupported operand type(s) for *: 'NoneType' and 'int'"
    expected = MODULE.replace("    5\n", "    4\n").replace("TypeError: old", f"TypeError: {message}")
    assert updated == expected.replace("    a\n    >>>", "    a\n    <BLANKLINE>\n    b\n    >>>")


@pytest.mark.slow
def test_renew_transcripts_changes_only_stale_lines(tmp_path):
    (tmp_path / "transcripts").mkdir()
    file = tmp_path / "transcripts" / "made.txt"
    template = "# One\n$ a\nfirst\nsecond ...\nthird\n! place {}\n\n# Two\n$ b\n{}\n...\n! place said\n"
    file.write_text(template.format("old", "old"))
    (tmp_path / "test_transcripts.py").write_text(TEST)
    assert dict(transcripts.updated_files(tmp_path / "test_transcripts.py")) == {file: template.format("said", "first")}
