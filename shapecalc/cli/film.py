"""`shapecalc film`: the steps of a request and what they do to its elements, as a moving picture."""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.cli.answer import exit_code_of, print_answer, print_error, write_file
from shapecalc.cli.app import asked_words
from shapecalc.cli.chains import answer_stages, place_in_chain
from shapecalc.cli.options import THEME, Argument, Command, command_words, printing_options
from shapecalc.cli.output import Output, input_text, put_json, read_input, tell, told_defaults
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.ask import ask, with_defaults
from shapecalc.core.commands import Option, read_chain, read_chain_words, read_stage
from shapecalc.core.fixing import answer as answer_request
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import replace
from shapecalc.core.text import brief, suggestion, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.view.scenes import Film


CHAIN = "chain"
PARAMETERS: tuple[Argument | Option, ...] = (
    command_words("any op's command line, or that of chain", "OP ARGS...", CHAIN),
    Option("film", "The film: .svg, .gif or .html.", metavar="FILE", long="--out", short="-o"),
    THEME,
    *printing_options("force", "json", "quiet", "no_config"),
)


def run_film(words: list[str], film: str | None, out: Output) -> int:
    """Answer the command line that the words are, write its film and print the answer; return the exit code."""
    words = asked_words(words)
    try:
        if film is None:
            raise misuse("a film needs a file to be written to", "write -o film.html, or .svg, .gif")
        from shapecalc.view.film import film_file

        answer = _answer(words, out)
        made, data = film_file(answer, film, out.theme)
        write_file(film, data, force=out.force)
    except ShapeError as error:
        return _print_refusal(error, words, out)
    return _print(answer, made, film, out)


def _answer(words: Sequence[str], out: Output) -> Trace | Chain:
    """Return the answer to the command line that some words are, under the defaults, which are told.

    Raises `ShapeError`: usage if they cannot be read, file if a file cannot.
    """
    if words[0] == CHAIN:
        return _answer_chain(words[1:], out)
    if words[0] not in OPS:
        raise misuse(f"there is no film of '{visible(brief(words[0]))}'", suggestion(words[0], [*OPS, CHAIN]))
    typed = read_stage(words, with_input=True)
    options = with_defaults(typed.op, told_defaults([(typed.op, typed.options)], {}, out), typed.options)
    given = read_input(input_text(typed.input or ""), options, typed.op)
    return answer_request(ask(typed.op, given.shape, given.options))


def _answer_chain(words: Sequence[str], out: Output) -> Chain:
    """Return the answer to a chain: `'INPUT | OP ... | OP ...' [--where SIZES]`."""
    stages, options = read_chain_words(words)
    try:
        shape, asked = read_chain(stages)
        defaults = told_defaults(asked, {}, out)
        return answer_stages(input_text(shape), asked, options, defaults)[0]
    except ShapeError as error:
        raise ShapeError(place_in_chain(error.problem, stages)) from None


def _print_refusal(error: ShapeError, words: Sequence[str], out: Output) -> int:
    """Tell why there is no film, under the command line if that can be read, and return the exit code."""
    if words[0] == CHAIN and len(words) > 1:
        return print_error(error, CHAIN, {"stages": words[1]}, out)
    try:
        typed = read_stage(words, with_input=True)
    except (ShapeError, KeyError):
        return print_error(error, "film", {"command": " ".join(words)}, out)
    return print_error(error, typed.op, {"input": typed.input, **typed.options}, out)


def _print(answer: Trace | Chain, made: Film, name: str, out: Output) -> int:
    """Print the answer, tell what the film holds and leaves out, and return the exit code of the answer."""
    frames, seconds = len(made.frames), round(made.seconds, 2)
    if out.json and not out.quiet:
        about = {"file": name, "frames": frames, "seconds": seconds, "notes": [*made.notes]}
        put_json(answer.as_json() | {"film": about})
        return exit_code_of(answer, differs=False, strict=False)
    code = print_answer(answer, replace(out, theme=None))
    for note in (f"{frames} frames, {seconds:.0f} seconds", *made.notes) if not out.quiet else ():
        tell(visible(f"shapecalc: {name}: {note}"))
    return code


FILM_COMMAND = Command(
    run=run_film,
    parameters=PARAMETERS,
    summary="Write the steps as a moving picture: memory as a tape, axes, cuts, 0 and -1.",
    examples="""\
  shapecalc film shuffle 2,3,4 --first 1,0,2 --to 0,-1 -o shuffle.html
  shapecalc film reshape 4,6 3,8 -o cuts.svg --theme dark
  shapecalc film chain '2,3,4 | transpose 1,0,2 | reshape 0,-1' -o chain.gif""",
    more="""
.svg moves without a script, .gif needs the extra film, .html is a page with a slider.
A refused request is drawn up to the step that fails. The answer is printed as always.
For a still picture, use an op's --picture.""",
    takes_unknown=True,
)
