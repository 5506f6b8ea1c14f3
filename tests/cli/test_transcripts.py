"""The command line in transcripts: `$` a command, `>` its standard input, `!` standard error, `=` the exit code.

`@` names a file that the lines with `|` are written to, `?` a place in the JSON that was printed. Beginning words as
`NAME=value` are set in the environment. Every command ends with 0 and an empty standard error if nothing else is said.
No command prints a traceback or a control character.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", r"\$|>|!|=|@|\||\?"))
def test_what_is_typed_gives_what_is_seen(lines, shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for group in groups(lines):
        first = group["first"]
        if first.sign == "@":
            Path(first.text).parent.mkdir(parents=True, exist_ok=True)
            Path(first.text).write_text(block(group["|"]))
            continue
        words = shlex.split(first.text.replace("<ESC>", "\x1b"))
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        with monkeypatch.context() as changed:
            while "=" in words[0]:
                changed.setenv(*words.pop(0).split("=", 1))
            ran = shapecalc(*words[1:], stdin=block(group[">"]))
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
