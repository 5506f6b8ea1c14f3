"""The manual says what is there: every command and option, every key of a case, every rule, and what examples print."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from typer.main import get_command

from shapecalc.cli.app import app
from shapecalc.core.asking.rulebook import RULES
from shapecalc.core.cases.case import KEYS
from shapecalc.core.dialects import DIALECTS
from shapecalc.teaching.lesson_faults import OPTIONAL, OPTIONAL_OF_WRONG, REQUIRED, REQUIRED_OF_WRONG
from tests.man import dialects
from tests.sessions import ROOT, commands, folder_with_shapecalc, printed

PAGES = sorted((ROOT / "man").glob("shapecalc*.[157]"))
TEXTS = {page.name: page.read_text("utf-8") for page in PAGES}
MANUAL, CASES, LESSONS = (TEXTS[f"shapecalc{name}"] for name in (".1", "-cases.5", "-lessons.5"))
HELP = {"-h", "--help"}


def flags(lines):
    """Return the options that some lines of a page name."""
    return {f"-{flag}" for flag in re.findall(r"\bFl (-?[\w-]+)", lines)}


def section(title, text=MANUAL):
    """Return a section or subsection of a page."""
    return re.search(rf"^\.S[hs] {title}\n(.*?)(?=^\.S[hs] |\Z)", text, re.M | re.S).group(1)


def options(command):
    """Return the options of a command, both sides of those that have two."""
    return {flag for param in command.params for flag in (*param.opts, *param.secondary_opts) if flag[0] == "-"}


def synopses(text=MANUAL):
    """Return the options of every command in the synopsis; the program's own under the empty name."""
    groups = {
        "rule-options": {"-d", "--dialect", "--dtype", "--where"},
        "output-options": flags(section("Output options", text)),
    }
    found = {}
    for part in section("SYNOPSIS", text).split(".Nm\n")[1:]:
        name = re.match(r"\.Cm (\S+)", part)
        named = [group for title, group in groups.items() if f".Ar {title}\n" in part or f"Op Ar {title}\n" in part]
        found[name.group(1) if name else ""] = flags(part).union(*named)
    return found


def tree():
    """Return the options of every command that there is."""
    program = get_command(app())
    return {"": options(program) | HELP} | {name: options(made) for name, made in program.commands.items()}


def test_the_synopsis_has_every_command_with_every_option_and_no_other():
    assert synopses() == tree()


def test_the_synopsis_would_tell_what_is_missing_or_made_up():
    assert synopses(MANUAL.replace(".Op Fl -strict\n", "", 1)) != tree()
    assert synopses(MANUAL.replace(".Cm repl", ".Cm repl\n.Op Fl -made-up")) != tree()
    assert synopses(MANUAL.replace(".It Fl -force\n", "")) != tree()


def test_every_option_is_explained_and_every_one_named_exists():
    known = set().union(*tree().values())
    assert flags("\n".join(re.findall(r"^\.It (Fl .*)", MANUAL, re.M))) == known
    assert flags(MANUAL) == known
    assert flags(CASES) | flags(LESSONS) <= known


def test_every_command_is_explained_and_every_one_named_exists():
    known = set(tree()) - {""}
    assert set(re.findall(r"^\.It Ic (\S+)", MANUAL, re.M)) == known
    assert set(re.findall(r"\bIc (\S+)", MANUAL)) == known


def test_the_exit_codes_are_those_of_the_program():
    from shapecalc.cli.output import Exit

    assert re.findall(r"^\.It (\d+)", section("EXIT STATUS"), re.M) == [
        str(code) for name, code in vars(Exit).items() if name.isupper()
    ]


def test_the_keys_of_a_case_are_explained():
    explained = re.findall(r"^\.It Li (.*)", section("JSON lines", CASES), re.M)
    assert {key for line in explained for key in line.split(" , ")} == set(KEYS)


def test_the_keys_of_a_lesson_are_explained():
    explained = [
        re.findall(r"^\.It Li (\w+)", section(title, LESSONS), re.M) for title in ("A lesson", "A wrong answer")
    ]
    keys = [{*REQUIRED, *OPTIONAL} - {"wrong"}, {*REQUIRED_OF_WRONG, *OPTIONAL_OF_WRONG}]
    assert [{*names} for names in explained] == keys


def test_the_page_of_dialects_is_what_the_tables_say():
    assert TEXTS["shapecalc-dialects.7"] == dialects.page(), "run: python -m tests.man.dialects"


def test_the_page_of_dialects_has_every_dialect_and_rule():
    text = TEXTS["shapecalc-dialects.7"]
    assert set(re.findall(r"^\.Ss (\S+)$", text, re.M)) > set(DIALECTS)
    assert [rule for rule in RULES if f".It Sy {rule}\n" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_mandoc_finds_nothing(page):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    ran = subprocess.run(["mandoc", "-Tlint", str(page)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


def literal(text):
    """Return the literal blocks of a page as they are shown."""
    blocks = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", text, re.M | re.S)
    return [block.replace(r"\(aq", "'").replace(r"\e", "\\") for block in blocks]


SHOWN = [pair for text in TEXTS.values() for pair in commands(literal(text))]
FILES = [
    (re.match(r"# file: (\S+)", block).group(1), block)
    for text in (CASES, LESSONS)
    for block in literal(text)
    if block.startswith("# file: ")
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_prints_what_the_page_shows(command, shown, tmp_path):
    assert printed(command, folder_with_shapecalc(tmp_path, FILES)) == shown


def test_the_pages_show_commands():
    assert len(SHOWN) > 6
    assert [name for name, _ in FILES] == ["model.shapes", "week3.toml"]
