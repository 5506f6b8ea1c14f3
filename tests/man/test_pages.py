"""The manual documents every command, option, case key and rule, and its examples are up to date."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
from io import StringIO

import pytest
from typer.main import get_command

from shapecalc.cli.info import MANUAL_PAGES as TOPICS
from shapecalc.cli.info import SHARED_PAGES, page_file_name, run_help
from shapecalc.cli.output import ExitCode, OutputOptions
from shapecalc.cli.typer_adapter import build_app
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import all_rules
from shapecalc.reading.cases import case_keys
from shapecalc.render.mdoc import format_page
from shapecalc.teaching.lessons import OPTIONAL_KEYS, OPTIONAL_WRONG_KEYS, REQUIRED_KEYS, REQUIRED_WRONG_KEYS
from tests.man import tables
from tests.sessions import PAGES, literal_blocks, make_session_folder, page_files, run

TEXTS = {page.name: page.read_text("utf-8") for page in PAGES}
MANUAL, CASES, LESSONS = (TEXTS[f"shapecalc{name}"] for name in (".1", "-cases.5", "-lessons.5"))
COMMAND_PAGES = "".join(text for name, text in TEXTS.items() if name.endswith(".1"))
GROUPS = {
    "rule-options": ["Rule options"],
    "switches": ["Switches"],
    "output-options": ["Output options", "Options of stores"],
    "store-options": ["Options of stores"],
    "options": ["Rule options", "Output options", "Options of stores"],
}
"""The names of option groups in a synopsis, with the sections of the overview that list the options."""
of_pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def flags(lines):
    """Return the options that the lines of a page mention."""
    return {f"-{flag}" for flag in re.findall(r"\bFl (-?[\w-]+)", lines)}


def items(macro, text):
    """Return the texts of the list items that begin with a macro."""
    return re.findall(rf"^\.It {macro}(.*)", text, re.M)


def documented_options(text):
    """Return the options that have a list item."""
    return flags("\n".join(f"Fl {item}" for item in items("Fl ", text)))


def section(title, text=MANUAL):
    """Return a section or subsection of a page."""
    return re.search(rf"^\.S[hs] {title}\n(.*?)(?=^\.S[hs] |\Z)", text, re.M | re.S).group(1)


def synopses(text=COMMAND_PAGES):
    """Return the options by command in the synopses; those of the program under ''."""
    options_by_command = {}
    for synopsis in re.findall(r"^\.Sh SYNOPSIS\n(.*?)(?=^\.Sh )", text, re.M | re.S):
        for part in re.split(r"^\.Nm.*\n", synopsis, flags=re.M)[1:]:
            name = re.match(r"\.Cm (\S+)", part)
            titles = [title for group, titles in GROUPS.items() if f"Op Ar {group}\n" in part for title in titles]
            options_by_command[name.group(1) if name else ""] = flags(part).union(
                *(documented_options(section(title, text)) for title in titles)
            )
    return options_by_command


def options(command):
    return {flag for param in command.params for flag in (*param.opts, *param.secondary_opts) if flag[0] == "-"}


def program_options():
    """Return the options by command of the program, with negated forms."""
    program = get_command(build_app())
    own_options = options(program) | {"-h", "--help"}
    return {"": own_options} | {name: options(command) for name, command in program.commands.items()}


def test_synopsis_lists_exactly_the_options():
    assert synopses() == program_options()
    for change in ((".Op Fl -strict\n", ""), (".Cm repl", ".Cm repl\n.Op Fl -made-up"), (".It Fl -force\n", "")):
        assert synopses(COMMAND_PAGES.replace(*change)) != program_options(), (
            "the comparison misses a removed or an added option"
        )


def test_options_are_explained_on_their_page():
    known = set().union(*program_options().values())
    for name, text in TEXTS.items():
        assert flags(text) <= known, name
        if name.endswith(".1"):
            assert flags(section("SYNOPSIS", text)) <= documented_options(text) | documented_options(MANUAL), name


def test_commands_are_explained_and_exist():
    known = {*program_options()} - {""}
    assert sorted(re.findall(r"\bIc (\S+)", "\n".join(f"Ic {item}" for item in items("Ic ", MANUAL)))) == sorted(known)
    assert {*re.findall(r"\bIc (\S+)", COMMAND_PAGES)} == known


def test_program_tables_are_explained():
    assert items(r"(?=\d)", section("EXIT STATUS")) == [
        str(code) for name, code in vars(ExitCode).items() if name.isupper()
    ]
    assert {*DIALECTS} <= {*re.findall(r"^\.Li (\w+)", section("Rule options"), re.M)}
    keys = [{*" , ".join(items("Li ", section("JSON lines", CASES))).split(" , ")}]
    keys += [{*items("Li ", section(title, LESSONS))} for title in ("A lesson", "A wrong answer")]
    assert keys == [
        {*case_keys()},
        {*REQUIRED_KEYS, *OPTIONAL_KEYS} - {"wrong"},
        {*REQUIRED_WRONG_KEYS, *OPTIONAL_WRONG_KEYS},
    ]


@pytest.mark.parametrize("page", tables.TABLES, ids=lambda page: page.name)
def test_generated_page_matches_its_tables(page):
    assert TEXTS[page.name] == tables.page(page), "if it is right: python -m tests.renew man"


def test_dialects_page_has_every_dialect_and_rule():
    text = TEXTS["shapecalc-dialects.7"]
    assert {*re.findall(r"^\.Ss (\S+)$", text, re.M)} > {*DIALECTS}
    assert [rule for rule in all_rules() if f".It Sy {rule}\n" not in text] == []


def words(text):
    """Return the printed words of a page, with ASCII quotes and dashes."""
    return text.translate(str.maketrans("\u2018\u2019\u2013", "''-")).split()


@of_pages
def test_mandoc_lint_and_text_agree(page):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    ran = subprocess.run(["mandoc", "-Tlint", str(page)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
    ran = subprocess.run(["mandoc", "-Tutf8", str(page)], capture_output=True, encoding="utf-8", check=True)
    body = re.sub(".\b", "", ran.stdout).strip().splitlines()[1:-1]
    assert words(format_page(TEXTS[page.name])) == words("\n".join(body))


@of_pages
def test_groff_reports_no_warning(page):
    if shutil.which("groff") is None or shutil.which("preconv") is None:
        pytest.skip("groff is not installed")
    ran = subprocess.run(["groff", "-k", "-ww", "-mdoc", "-Tutf8", "-z", page], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, b"")


@of_pages
def test_page_without_man_keeps_words_and_width(page):
    source = TEXTS[page.name]
    prose = re.sub(r"^\.Bd.*?^\.Ed", "", re.sub(r"^\.Dl.*", "", source, flags=re.M), flags=re.M | re.S)
    text = format_page(prose, 78)
    assert max(map(len, text.splitlines())) <= 78
    assert not re.search(r"\\|^\.[A-Z]", text, re.M)
    assert [block for block in literal_blocks(source) if block.splitlines()[0] not in format_page(source)] == []


SESSIONS = [
    pytest.param(block, id=f"{name}: {block[2:].splitlines()[0]}")
    for name, text in TEXTS.items()
    for block in literal_blocks(text)
    if block.startswith("$ ")
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("session", SESSIONS)
def test_page_sessions_print_what_is_shown(session, tmp_path):
    assert run(session, make_session_folder(tmp_path)) == session, "if it is right: python -m tests.renew man"


def test_pages_show_commands_files_and_python():
    assert len(SESSIONS) > 20
    assert [name for name, _ in page_files()] == ["model.shapes", "week3.toml"]
    (shown,) = [block for block in literal_blocks(COMMAND_PAGES) if block.startswith(">>> ")]
    test = doctest.DocTestParser().get_doctest(shown, {}, "shapecalc.1", None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_pages_equal_those_of_help(shapecalc):
    assert sorted(map(page_file_name, TOPICS)) == sorted(TEXTS)
    assert {*SHARED_PAGES} <= {*program_options()}
    assert all(f".Cm {command}\n" in TEXTS[page_file_name(topic)] for command, topic in SHARED_PAGES.items())
    for words, page in ((["tutorial"], "tutorial"), (["shapecalc-model"], "model"), (["--page", "film"], "tui")):
        assert shapecalc("help", *words).out.rstrip("\n") == format_page(TEXTS[page_file_name(page)])
    assert shapecalc("help", "--page", "permute") == shapecalc("help", "--page", "transpose")
    assert shapecalc("help", "model") == shapecalc("model", "-h")
    ran = shapecalc("help", "tutorail")
    assert (ran.code, ran.out, "did you mean tutorial?" in ran.err) == (2, "", True)


def test_help_of_a_command_without_page_uses_the_overview(shapecalc):
    whole = shapecalc("help", "--page").out.splitlines()
    for command in sorted({*program_options()} - {"", *TOPICS, *SHARED_PAGES}):
        lines = shapecalc("help", "--page", command).out.splitlines()
        assert lines[lines.index("SYNOPSIS") + 1].split()[:2] == ["shapecalc", command]
        assert lines[lines.index("COMMANDS") + 1].split()[0] == command
        assert lines[-1].strip() == "shapecalc help --page"
        assert {*lines[: lines.index("SEE ALSO")]} <= {*whole}
        assert len([line for line in lines if line.startswith("     shapecalc")]) == 2


def test_help_uses_the_pager_on_a_terminal(monkeypatch):
    paged, terminal = [], StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("pydoc.pager", paged.append)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("sys.stdout", terminal)
    assert run_help(["tutorial"], page=False, whole=True, output_options=OutputOptions()) == 0
    assert paged == [format_page(TEXTS["shapecalc-tutorial.7"])]


def test_help_reports_missing_pages(shapecalc, monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.resources.files", lambda _package: tmp_path / "package")
    ran = shapecalc("help", "tutorial")
    assert (ran.code, ran.out) == (4, "")
    assert "shapecalc-tutorial.7 is not installed with this copy" in ran.err
