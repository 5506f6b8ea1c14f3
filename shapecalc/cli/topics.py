"""What to ask in place of a word that is no command, but names something that the program knows."""

from __future__ import annotations

from shapecalc.cli.pages import OVERVIEW, PAGES
from shapecalc.core.dialects import dialect_named
from shapecalc.core.ops import every_rule

MANUAL = "the manual: shapecalc help --page; to begin: shapecalc help tutorial"
MESSAGE = "an error message is read from standard input: shapecalc doctor, paste, Ctrl-D"
COMMANDS = "all commands: shapecalc -h"
DIALECTS = "the frameworks, which are called dialects: shapecalc dialects"
LESSONS = "lessons: shapecalc tui --lesson; exercises: shapecalc drill"
RULE = "all rules: shapecalc why; the steps of an answer: --explain behind the question"
TOPICS = {
    **dict.fromkeys(("doc", "docs", "documentation", "guide", "man", "manual", "readme"), MANUAL),
    **dict.fromkeys(("example", "examples", "intro", "start"), "examples: shapecalc help tutorial"),
    **dict.fromkeys(("debug", "error", "errors", "exception", "message", "traceback"), MESSAGE),
    **dict.fromkeys(("command", "commands", "list", "operations", "ops"), COMMANDS),
    **dict.fromkeys(("dialect", "framework", "frameworks"), DIALECTS),
    **dict.fromkeys(
        ("course", "drills", "exercise", "exercises", "learn", "lesson", "lessons", "practice", "quiz", "teach"),
        LESSONS,
    ),
    **dict.fromkeys(("explain", "rule", "rules"), RULE),
    **dict.fromkeys(("app", "gui", "ui"), "the app: shapecalc tui"),
    **dict.fromkeys(("batch", "fix", "mend"), "a model at another batch size: shapecalc model FILE.onnx"),
    "version": "shapecalc --version",
}
"""Words that name a part of the program, and what to ask for it."""


def topic_hint(word: str) -> str:
    """Return what to ask in place of a word that is no command; nothing if it is not known at all.

    >>> topic_hint("tutorial"), topic_hint("infer"), topic_hint("docs").partition(";")[0], topic_hint("reshpe")
    ('a page of the manual: shapecalc help tutorial', 'a rule: shapecalc why infer', \
'the manual: shapecalc help --page', '')
    >>> topic_hint("2,3 | transpose")
    'write shapecalc chain before it'
    """
    if "|" in word:
        return "write shapecalc chain before it"
    if "error" in word.lower() and " " in word:
        return MESSAGE
    if "," in word:
        return "name an op before it, or a second shape after it"
    low = word.lower().removeprefix(f"{OVERVIEW}-")
    if low in TOPICS:
        return TOPICS[low]
    if low in PAGES:
        return f"a page of the manual: shapecalc help {low}"
    if low in every_rule():
        return f"a rule: shapecalc why {low}"
    dialect = dialect_named(low)
    if dialect is not None:
        return f"a dialect: --dialect {dialect.name} behind a question; its rules: shapecalc help dialects --page"
    if low.endswith(".onnx"):
        return "write shapecalc model before it"
    return ""
