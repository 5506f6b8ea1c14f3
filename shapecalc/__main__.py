"""The entry point: a bare question is answered before Typer is imported."""

from __future__ import annotations

import sys

from shapecalc.cli.output import RunEnded, put


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        answer = bare_answer(sys.argv[1:])
        if answer is not None:
            put(answer)
            return 0
        from shapecalc.cli.app import run

        return run(sys.argv[1:])
    except RunEnded as ended:
        return ended.code
    except KeyboardInterrupt:
        return 130


def bare_answer(words: list[str]) -> str | None:
    """Return the answer to an op with plain shapes and nothing else, or None where Typer must look at it.

    Typer's start costs several times the answer. The grammar is the one that chains are read with;
    anything with an option, a condition or an error is not answered here.

    >>> bare_answer(["reshape", "2,3,4", "0,-1"]), bare_answer(["reshape", "2,3,4", "5,-1"])
    ('2,12', None)
    """
    from shapecalc.core.operations import OPS
    from shapecalc.core.problem import ShapeError
    from shapecalc.core.request import ask
    from shapecalc.core.resolve import resolve
    from shapecalc.core.text import shape_text
    from shapecalc.core.words import read_stage

    if not words or words[0] not in OPS or any(word.startswith("-") and not word[1:2].isdigit() for word in words):
        return None
    try:
        stage = read_stage(words, with_input=True)
        trace = resolve(ask(stage.op, stage.input or "", stage.options))
    except ShapeError:
        return None
    return None if trace.output is None or trace.conditions else shape_text(trace.output)


if __name__ == "__main__":
    sys.exit(main())
