"""The manual says what is there: every command and option, every key of a case, every rule, and what examples print."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from io import StringIO

import pytest
from typer.main import get_command

from shapecalc.cli.info import ABOUT, file_name, run_help
from shapecalc.cli.info import PAGES as TOPICS
from shapecalc.cli.output import Exit, Output
from shapecalc.cli.typer_adapter import app
from shapecalc.core.cases import KEYS
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import every_rule
from shapecalc.teaching.lessons import OPTIONAL, OPTIONAL_OF_WRONG, REQUIRED, REQUIRED_OF_WRONG
from shapecalc.view.mdoc import page_text
from tests.man import dialects, limits
from tests.sessions import PAGES, files_of_pages, folder_of_sessions, literal, run

TEXTS = {page.name: page.read_text("utf-8") for page in PAGES}
MANUAL, CHECK, CASES, LESSONS = (TEXTS[f"shapecalc{name}"] for name in (".1", "-check.1", "-cases.5", "-lessons.5"))
OF_COMMANDS = "".join(text for name, text in TEXTS.items() if name.endswith(".1"))
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


def synopses(text=OF_COMMANDS):
    """Return the options of every command in the synopses; the program's own under the empty name."""
    groups = {
        name: flags("\n".join(re.findall(r"^\.It (Fl .*)", section(title, text), re.M)))
        for name, title in (
            ("rule-options", "Rule options"),
            ("switches", "Switches"),
            ("output-options", "Output options"),
            ("store-options", "Options of stores"),
        )
    }
    groups["output-options"] |= groups["store-options"]
    groups["options"] = groups["rule-options"] | groups["output-options"]
    found = {}
    for synopsis in re.findall(r"^\.Sh SYNOPSIS\n(.*?)(?=^\.Sh )", text, re.M | re.S):
        for part in re.split(r"^\.Nm.*\n", synopsis, flags=re.M)[1:]:
            name = re.match(r"\.Cm (\S+)", part)
            named = [group for title, group in groups.items() if f"Op Ar {title}\n" in part]
            found[name.group(1) if name else ""] = flags(part).union(*named)
    return found


def tree():
    """Return the options of every command that there is."""
    program = get_command(app())
    return {"": options(program) | HELP} | {name: options(made) for name, made in program.commands.items()}


def test_the_synopsis_has_every_command_with_every_option_and_no_other():
    assert synopses() == tree()


def test_the_synopsis_would_tell_what_is_missing_or_made_up():
    assert synopses(OF_COMMANDS.replace(".Op Fl -strict\n", "", 1)) != tree()
    assert synopses(OF_COMMANDS.replace(".Cm repl", ".Cm repl\n.Op Fl -made-up")) != tree()
    assert synopses(OF_COMMANDS.replace(".It Fl -force\n", "")) != tree()


def test_every_option_is_explained_where_its_command_stands_and_every_one_named_exists():
    known = set().union(*tree().values())
    in_overview = flags("\n".join(re.findall(r"^\.It (Fl .*)", MANUAL, re.M)))
    for name, text in TEXTS.items():
        assert flags(text) <= known, name
        if name.endswith(".1"):
            explained = flags("\n".join(re.findall(r"^\.It (Fl .*)", text, re.M)))
            assert flags(section("SYNOPSIS", text)) <= explained | in_overview, name


def test_every_command_is_explained_and_every_one_named_exists():
    known = set(tree()) - {""}
    explained = re.findall(r"\bIc (\S+)", "\n".join(re.findall(r"^\.It (Ic .*)", MANUAL, re.M)))
    assert sorted(explained) == sorted(known)
    assert set(re.findall(r"\bIc (\S+)", OF_COMMANDS)) == known


def test_the_exit_codes_are_those_of_the_program():
    assert re.findall(r"^\.It (\d+)", section("EXIT STATUS"), re.M) == [
        str(code) for name, code in vars(Exit).items() if name.isupper()
    ]


def test_the_overview_names_every_dialect():
    assert {*DIALECTS} <= set(re.findall(r"^\.Li (\w+)", section("Rule options"), re.M))


def test_the_keys_of_a_case_are_explained():
    explained = re.findall(r"^\.It Li (.*)", section("JSON lines", CASES), re.M)
    assert {key for line in explained for key in line.split(" , ")} == set(KEYS)


def test_the_keys_of_a_lesson_are_explained():
    explained = [
        re.findall(r"^\.It Li (\w+)", section(title, LESSONS), re.M) for title in ("A lesson", "A wrong answer")
    ]
    keys = [{*REQUIRED, *OPTIONAL} - {"wrong"}, {*REQUIRED_OF_WRONG, *OPTIONAL_OF_WRONG}]
    assert [{*names} for names in explained] == keys


@pytest.mark.parametrize("made", [dialects, limits])
def test_a_page_of_tables_is_what_they_say(made):
    assert TEXTS[made.PAGE.name] == made.page(), "if it is right: python -m tests.renew man"


def test_the_page_of_dialects_has_every_dialect_and_rule():
    text = TEXTS["shapecalc-dialects.7"]
    assert set(re.findall(r"^\.Ss (\S+)$", text, re.M)) > set(DIALECTS)
    assert [rule for rule in every_rule() if f".It Sy {rule}\n" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_mandoc_finds_nothing(page):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    ran = subprocess.run(["mandoc", "-Tlint", str(page)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_groff_finds_nothing(page):
    if shutil.which("groff") is None or shutil.which("preconv") is None:
        pytest.skip("groff is not installed")
    ran = subprocess.run(["groff", "-k", "-ww", "-mdoc", "-Tutf8", "-z", page], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, b"")


SESSIONS = {
    f"{name}: {block[2 : block.index(chr(10))]}": block
    for name, text in TEXTS.items()
    for block in literal(text)
    if block.startswith("$ ")
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("session", SESSIONS.values(), ids=SESSIONS)
def test_a_session_prints_what_the_page_shows(session, tmp_path):
    assert run(session, folder_of_sessions(tmp_path)) == session, "if it is right: python -m tests.renew man"


def test_the_python_of_the_pages_is_right():
    (shown,) = [block for block in literal(OF_COMMANDS) if block.startswith(">>> ")]
    test = doctest.DocTestParser().get_doctest(shown, {}, "shapecalc.1", None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_pages_show_commands():
    assert len(SESSIONS) > 20
    assert [name for name, _ in files_of_pages()] == ["model.shapes", "week3.toml"]


def words(text):
    """Return the words of a page as they are printed, whatever the signs of its quotes and dashes."""
    return text.translate(str.maketrans("\u2018\u2019\u2013", "''-")).split()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_without_man_says_what_mandoc_says(page):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    ran = subprocess.run(["mandoc", "-Tutf8", str(page)], capture_output=True, encoding="utf-8", check=True)
    body = re.sub(".\b", "", ran.stdout).strip().splitlines()[1:-1]
    assert words(page_text(TEXTS[page.name])) == words("\n".join(body))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_without_man_has_all_its_words_within_its_width(page):
    source = TEXTS[page.name]
    filled = re.sub(r"^\.Bd.*?^\.Ed", "", re.sub(r"^\.Dl.*", "", source, flags=re.M), flags=re.M | re.S)
    text = page_text(filled, 78)
    assert max(map(len, text.splitlines())) <= 78
    assert not re.search(r"\\|^\.[A-Z]", text, re.M)
    assert [block for block in literal(source) if block.splitlines()[0] not in page_text(source)] == []


def test_the_pages_are_those_that_help_prints():
    assert sorted(map(file_name, TOPICS)) == sorted(TEXTS)
    assert {*ABOUT} <= set(tree())
    assert all(f".Cm {command}\n" in TEXTS[file_name(topic)] for command, topic in ABOUT.items())


def test_what_help_prints_is_the_page_or_the_help(shapecalc):
    for words, page in ((["tutorial"], "tutorial"), (["shapecalc-model"], "model"), (["--page", "film"], "tui")):
        assert shapecalc("help", *words).out.rstrip("\n") == page_text(TEXTS[file_name(page)])
    assert shapecalc("help", "--page", "permute") == shapecalc("help", "--page", "transpose")
    assert shapecalc("help", "model") == shapecalc("model", "-h")
    ran = shapecalc("help", "tutorail")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean tutorial?" in ran.err


@pytest.mark.parametrize("command", sorted({*tree()} - {"", *TOPICS, *ABOUT}))
def test_of_a_command_without_a_page_help_prints_what_the_overview_says_of_it(command, shapecalc):
    lines = shapecalc("help", "--page", command).out.splitlines()
    begins = lines.index("SYNOPSIS") + 1
    assert lines[begins].split()[:2] == ["shapecalc", command]
    assert lines[lines.index("COMMANDS") + 1].split()[0] == command
    assert lines[-1].strip() == "shapecalc help --page"
    whole = shapecalc("help", "--page").out.splitlines()
    assert {*lines[: lines.index("SEE ALSO")]} <= {*whole}
    assert len([line for line in lines if line.startswith("     shapecalc")]) == 2


def test_on_a_terminal_a_page_is_shown_by_the_pager(monkeypatch):
    class Terminal(StringIO):
        def isatty(self):
            return True

    shown = []
    monkeypatch.setattr("pydoc.pager", shown.append)
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stdout", Terminal())
    assert run_help(["tutorial"], page=False, out=Output()) == 0
    assert shown == [page_text(TEXTS["shapecalc-tutorial.7"])]


def test_a_copy_without_pages_says_so(shapecalc, monkeypatch, tmp_path):
    monkeypatch.setattr("shapecalc.cli.info.files", lambda _package: tmp_path / "package")
    ran = shapecalc("help", "tutorial")
    assert (ran.code, ran.out) == (4, "")
    assert "shapecalc-tutorial.7 is not installed with this copy" in ran.err
