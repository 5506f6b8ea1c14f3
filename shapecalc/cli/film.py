"""`shapecalc film`: write the steps of a request as an animation."""

from __future__ import annotations

from shapecalc.cli.answer import print_error, run_op_command
from shapecalc.cli.chain import run_chain
from shapecalc.cli.options import Argument, Command, command_line_argument, select_output_options
from shapecalc.cli.output import OutputOptions, read_input_text
from shapecalc.cli.output_options import THEME_OPTION
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.text import escape_unprintable, suggest_name, truncate
from shapecalc.reading.commands import parse_chain_words, parse_stage, resolve_aliases
from shapecalc.reading.options import Option

CHAIN = "chain"
FILM_PARAMETERS: tuple[Argument | Option, ...] = (
    command_line_argument("the command line of an op or of chain", "OP ARGS...", CHAIN),
    Option("film", "Output file: .svg, .gif or .html.", metavar="FILE", long="--out", short="-o"),
    THEME_OPTION,
    *select_output_options("pixels", "force", "json", "quiet", "no_config"),
)


def run_film(words: list[str], film: str | None, output_options: OutputOptions) -> int:
    """Write the steps of a request or chain as an animation, and print the answer.

    `words` are the command line of the request or chain, and `film` is the file to write.
    """
    from shapecalc.reading.command_detection import is_shape

    words = (
        [CHAIN, *words] if "|" in words[0] else ["reshape", *words] if is_shape(words[0]) else resolve_aliases(words)
    )
    output_options = replace(output_options, film=film)
    try:
        if film is None:
            raise usage_error("a film needs a file to be written to", "write -o film.html, or .svg, .gif")
        if words[0] == CHAIN:
            text, options = parse_chain_words(words[1:])
            shape, bar, stages = text.partition("|")
            return run_chain(f"{read_input_text(shape)}{bar}{stages}", output_options, **options)
        if words[0] not in OPS:
            raise usage_error(
                f"there is no film of '{escape_unprintable(truncate(words[0]))}'", suggest_name(words[0], [*OPS, CHAIN])
            )
        stage = parse_stage(words, with_input=True)
        return run_op_command(stage.op, {"input": read_input_text(stage.input or ""), **stage.options}, output_options)
    except ShapeError as error:
        return print_error(error, "film", {"command": " ".join(words)}, output_options)


FILM_COMMAND = Command(
    run=run_film,
    parameters=FILM_PARAMETERS,
    summary="Write the steps as an animation of the memory and the axes.",
    examples="""\
  shapecalc film shuffle 2,3,4 --first 1,0,2 --to 0,-1 -o shuffle.html
  shapecalc film reshape 4,6 3,8 -o cuts.svg --theme dark
  shapecalc film chain '2,3,4 | transpose 1,0,2 | reshape 0,-1' -o chain.gif""",
    details="""
A film begins with the result. An .svg file is animated without a script, a .gif file needs the extra 'film', and an
.html page has a player; if its checkbox 'ask' is checked, it asks for each dim before the dim is shown. A refused
request is drawn up to the failing step. The answer is also printed. For a still picture, use the option --picture of an
op.""",
    accepts_unknown_options=True,
)
