"""The command line in transcripts: `$` a command, `>` its standard input, `!` standard error, `=` the exit code.

`@` names a file that the lines with `|` are written to, `?` a place in the JSON that was printed. Beginning words as
`NAME=value` are set in the environment. `<ESC>` and `<U+a0>` are characters, `<2,*40>` is what stands before the star
40 times, `<A0..A9>` and `<0..9>` are all from A0 to A9 and from 0 to 9. `ls` and `cat` show what was written. Every
command ends with 0 and an empty standard error if nothing else is said. No command prints a traceback or a control
character.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Ran
from tests.transcripts import is_seen, transcripts

pytestmark = pytest.mark.sampled(40)


def groups(lines):
    """Yield each command or file of a transcript with the lines that belong to it, by their signs."""
    group = {}
    for line in [*lines, None]:
        if line is None or line.sign in ("$", "@"):
            if group:
                yield group
            group = {"": [], ">": [], "!": [], "=": [], "?": [], "|": [], "first": line}
        else:
            group[line.sign].append(line)


def block(lines):
    """Return lines as they are printed, without the empty ones at the end."""
    text = "\n".join(line.text for line in lines).rstrip("\n")
    return f"{text}\n" if text else ""


def typed(text):
    """Return what is typed, with what stands in <> written out."""
    text = re.sub(r"<U\+(\w+)>", lambda found: chr(int(found[1], 16)), text.replace("<ESC>", "\x1b"))
    text = re.sub(r"<([^<>]+)\*(\d+)>", lambda found: found[1] * int(found[2]), text)
    names = re.compile(r"<(\w?)0\.\.\1(\d+)>")
    return names.sub(lambda found: ",".join(f"{found[1]}{at}" for at in range(int(found[2]) + 1)), text)


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", r"\$|>|!|=|@|\||\?"))
def test_what_is_typed_gives_what_is_seen(lines, shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for group in groups(lines):
        first = group["first"]
        if first.sign == "@":
            Path(first.text).parent.mkdir(parents=True, exist_ok=True)
            Path(first.text).write_text(typed(block(group["|"])), "utf-8", "surrogateescape")
            continue
        words = shlex.split(typed(first.text))
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        with monkeypatch.context() as changed:
            while "=" in words[0]:
                changed.setenv(*words.pop(0).split("=", 1))
            if words[0] == "ls":
                ran = Ran(0, "".join(sorted(f"{path.name}\n" for path in Path().iterdir())), "")
            elif words[0] == "cat":
                ran = Ran(0, Path(words[1]).read_text("utf-8"), "")
            else:
                ran = shapecalc(*words[1:], stdin=typed(block(group[">"])))
        place = first.place
        assert "Traceback" not in ran.err, place
        assert (ran.out + ran.err).replace("\n", "").isprintable(), place
        assert ran.code == int(group["="][0].text if group["="] else 0), f"{place}: {ran}"
        assert is_seen(block(group["!"]), ran.err), f"{place}: {ran.err}"
        if group["?"]:
            for line in group["?"]:
                path, _, expected = line.text.partition(" ")
                found = json.loads(ran.out)
                for key in path.split(".") if path != "." else ():
                    found = found[int(key) if isinstance(found, list) else key]
                written = json.dumps(found, ensure_ascii=False)
                assert is_seen(expected, f"{written}\n"), f"{line.place}: {written}"
        else:
            assert is_seen(block(group[""]), ran.out), f"{place}: {ran.out}"
