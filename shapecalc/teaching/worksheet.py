"""Exercises for paper: a worksheet as text, Markdown or HTML, with the answers on a page of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from shapecalc.core.ask import DEFAULT_OPSET, default_dialect
from shapecalc.teaching.exercises import Exercise
from shapecalc.teaching.judging import account, answer_line, prediction_text

ASKED = "Write the output shape, or error if the request is refused."
USUAL = "onnx"
"""The dialect of most ops, where none is named."""
BLANK = "________________"
STYLE = """\
:root { color-scheme: light dark; }
body { font: 12pt/1.5 sans-serif; max-width: 48em; margin: 2em auto; padding: 0 1em; }
code { font: 11pt ui-monospace, Menlo, Consolas, monospace; }
li { break-inside: avoid; margin-bottom: 0.8em; }
.blank { display: inline-block; min-width: 10em; border-bottom: 1px solid; }
.answers { break-before: page; }"""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What stands on a worksheet."""

    title: str
    note: str
    """How the same sheet is made again."""
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    """The answers with their reasons; none if they are not to be printed."""
    rules: str = ""
    """Whose rules the questions are asked under."""


def sheet_of(exercises: Iterable[Exercise], topics: str, seed: str, *, answers: bool) -> Sheet:
    """Return the worksheet of some exercises."""
    asked = [*exercises]
    note = f"shapecalc drill {topics} --print {len(asked)} --seed {seed}"
    told = tuple(map(_answer_text, asked)) if answers else ()
    questions = tuple(each.task.question for each in asked)
    return Sheet(f"Shapes: {', '.join(topics.split())}", note, questions, told, rules_of(questions))


def rules_of(questions: Sequence[str]) -> str:
    """Return the sentences that say under whose rules questions are asked, and how dims are counted.

    >>> rules_of(["reshape 2,3 0,-1", "shuffle 2,3 --to -1", "transpose 2,3 1,0 --dialect torch"])
    'Rules of ONNX (opset 25), for shuffle of tensorrt, of torch where it is named. Dims are counted from 0.'
    """
    named = {question.rpartition("--dialect ")[2].split()[0] for question in questions if "--dialect" in question}
    ops = {trace.op for question in questions if "--dialect" not in question for trace in answer_line(question).traces}
    special = {op: default_dialect(op) for op in sorted(ops) if default_dialect(op) != USUAL}
    parts = [f"of {USUAL.upper()} (opset {DEFAULT_OPSET})"] if ops - {*special} else []
    parts += [f"for {op} of {dialect}" for op, dialect in special.items()]
    parts += [f"of {' or '.join(sorted(named))} where it is named"] if named else []
    return f"Rules {', '.join(parts)}. Dims are counted from 0."


def _answer_text(asked: Exercise) -> str:
    """Return the answer to an exercise as it is typed, with what every dim comes from, and the rule to remember."""
    answer = answer_line(asked.task.question)
    rule = answer.problem.rule if answer.problem else asked.kind.rule
    return f"{prediction_text(answer.output)}: {account(answer)} [{rule}]"


def text_of(sheet: Sheet) -> str:
    """Return a worksheet as plain text.

    >>> print(text_of(Sheet("Shapes: infer", "shapecalc drill", ("reshape 2,3 -1",), ("6",))))
    Shapes: infer
    Write the output shape, or error if the request is refused.
    <BLANKLINE>
     1. reshape 2,3 -1
        ________________
    <BLANKLINE>
    Answers
     1. 6
    <BLANKLINE>
    shapecalc drill
    """
    width = max(2, len(str(len(sheet.questions))))
    indent = " " * (width + 2)
    asked = [f"{number:>{width}}. {text}\n{indent}{BLANK}\n" for number, text in enumerate(sheet.questions, 1)]
    told = [f"{number:>{width}}. {text}" for number, text in enumerate(sheet.answers, 1)]
    told = ["Answers", *told, ""] if told else []
    return "\n".join([sheet.title, *_head(sheet), "", *asked, *told, sheet.note])


def _head(sheet: Sheet) -> list[str]:
    """Return what is said above the questions, a sentence each."""
    return [ASKED, *([sheet.rules] if sheet.rules else [])]


def markdown_of(sheet: Sheet) -> str:
    """Return a worksheet as Markdown.

    >>> print(markdown_of(Sheet("Shapes: infer", "shapecalc drill", ("reshape 2,3 -1",), ())))
    # Shapes: infer
    <BLANKLINE>
    Write the output shape, or error if the request is refused.
    <BLANKLINE>
    1. `reshape 2,3 -1` → `________________`
    <BLANKLINE>
    <sub>`shapecalc drill`</sub>
    """
    asked = [f"{number}. `{text}` → `{BLANK}`" for number, text in enumerate(sheet.questions, 1)]
    told = [f"{number}. {_escaped(text)}" for number, text in enumerate(sheet.answers, 1)]
    parts = [f"# {sheet.title}", *_head(sheet), "\n".join(asked), *(["## Answers", "\n".join(told)] if told else [])]
    return "\n\n".join([*parts, f"<sub>`{sheet.note}`</sub>"])


def _escaped(text: str) -> str:
    """Return a text in which Markdown finds nothing of its own."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in text)


def html_of(sheet: Sheet) -> str:
    """Return a worksheet as a page of HTML that needs nothing else; the answers begin a page when it is printed."""
    asked = [
        f'<li><code>{escape(text)}</code> &rarr; <span class="blank">&nbsp;</span></li>' for text in sheet.questions
    ]
    told = [f"<li>{escape(text)}</li>" for text in sheet.answers]
    answers = ['<section class="answers">', "<h2>Answers</h2>", "<ol>", *told, "</ol>", "</section>"] if told else []
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">',
            f'<head><meta charset="utf-8"><title>{escape(sheet.title)}</title>',
            f"<style>\n{STYLE}\n</style></head>",
            f"<body>\n<h1>{escape(sheet.title)}</h1>",
            *(f"<p>{escape(said)}</p>" for said in _head(sheet)),
            *("<ol>", *asked, "</ol>"),
            *answers,
            f"<footer><code>{escape(sheet.note)}</code></footer>\n</body>\n</html>",
        ]
    )


WRITERS: Mapping[str, Callable[[Sheet], str]] = {"text": text_of, "markdown": markdown_of, "html": html_of}
"""What writes a worksheet, by the name of the format."""
ENDINGS = {".txt": "text", ".md": "markdown", ".html": "html", ".htm": "html"}
"""The format of a file, by its ending."""
