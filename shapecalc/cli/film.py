"""`shapecalc film`: write the steps of a request as an animation."""

from __future__ import annotations

from shapecalc.cli.answer import answer_op, print_error
from shapecalc.cli.chains import run_chain
from shapecalc.cli.options import THEME, Argument, Command, command_words, printing_options
from shapecalc.cli.output import Output, input_text
from shapecalc.core.commands import Option, read_chain_words, read_stage, respelled
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.readings import is_shape
from shapecalc.core.record import replace
from shapecalc.core.text import brief, suggestion, visible

CHAIN = "chain"
PARAMETERS: tuple[Argument | Option, ...] = (
    command_words("any op's command line, or that of chain", "OP ARGS...", CHAIN),
    Option("film", "The film: .svg, .gif or .html.", metavar="FILE", long="--out", short="-o"),
    THEME,
    *printing_options("force", "json", "quiet", "no_config"),
)


def run_film(words: list[str], film: str | None, out: Output) -> int:
    """Answer a request or a chain, write its film and print the answer."""
    words = [CHAIN, *words] if "|" in words[0] else ["reshape", *words] if is_shape(words[0]) else respelled(words)
    out = replace(out, film=film)
    try:
        if film is None:
            raise misuse("a film needs a file to be written to", "write -o film.html, or .svg, .gif")
        if words[0] == CHAIN:
            text, options = read_chain_words(words[1:])
            shape, bar, stages = text.partition("|")
            return run_chain(f"{input_text(shape)}{bar}{stages}", out, **options)
        if words[0] not in OPS:
            raise misuse(f"there is no film of '{visible(brief(words[0]))}'", suggestion(words[0], [*OPS, CHAIN]))
        stage = read_stage(words, with_input=True)
        return answer_op(stage.op, {"input": input_text(stage.input or ""), **stage.options}, out)
    except ShapeError as error:
        return print_error(error, "film", {"command": " ".join(words)}, out)


FILM_COMMAND = Command(
    run=run_film,
    parameters=PARAMETERS,
    summary="Write the steps as a moving picture: memory as a tape, axes, cuts, 0 and -1.",
    examples="""\
  shapecalc film shuffle 2,3,4 --first 1,0,2 --to 0,-1 -o shuffle.html
  shapecalc film reshape 4,6 3,8 -o cuts.svg --theme dark
  shapecalc film chain '2,3,4 | transpose 1,0,2 | reshape 0,-1' -o chain.gif""",
    more="""
.svg moves without a script, .gif needs the extra film, .html is a page that asks before a dim is filled.
A refused request is drawn up to the step that fails. The answer is printed as always.
For a still picture, use an op's --picture.""",
    takes_unknown=True,
)
