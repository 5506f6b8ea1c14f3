"""`shapecalc code`: a line of code about one tensor, as the chain of ops that it is."""

from __future__ import annotations

from textwrap import dedent

from shapecalc.cli.answer import advised, print_answer, print_error
from shapecalc.cli.inputs import read_input, read_stdin
from shapecalc.cli.options import ASKING, PRINTING, Argument, Command, Option
from shapecalc.cli.output import tell
from shapecalc.core.ask import chain_with_options
from shapecalc.core.fixing import answer_chain
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.text import read_shape, tokens
from shapecalc.core.values import read_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output
    from shapecalc.core.dims import Shape

LINE = Argument(
    "line", "an expression with one tensor, or assignments that end with one; - reads it from standard input", "'LINE'"
)
INPUT = Option("input", "The tensor's name and shape: x=N,C,H,W, or the shape alone.", metavar="[NAME=]SHAPE")


def _shape_of(text: str) -> Shape:
    """Return the shape of a tensor from its text, where None and -1 are sizes that nobody knows, as in frameworks."""
    words = [token.text for token in tokens(text, "input")]
    unknown = {"-1", "None"} & {*words}
    return read_shape(f"[{','.join('?' if word in unknown else word for word in words)}]" if unknown else text)


def run_code(
    line: str, input: str | None, dialect: str | None, where: str | None, out: Output, **others: object
) -> int:
    """Answer the chain that the line is; tell what is assumed in reading it. The other options are for every stage."""
    from shapecalc.core.code import read_code  # it imports Python's own parser

    text = dedent(read_stdin().decode("utf-8", "surrogateescape") if line.strip() == "-" else line).strip()
    try:
        if input is None:
            raise misuse("the tensor's shape is missing", "write --input x=N,C,H,W", argument="input")
        name, _, shape = input.rpartition("=")
        given = read_input(shape, {"dialect": dialect}, "reshape")
        sizes = {} if where is None else read_sizes(where)
        read = read_code(text, name.strip() or None, _shape_of(given.shape), dialect, sizes)
        for note in read.notes if not (out.quiet or out.json) else ():
            tell(f"shapecalc: {note}")
        stages = chain_with_options(read.stages, others)
        return print_answer(answer_chain(read.shape, stages, {}), out, given.source, asked=[{"where": where}])
    except ShapeError as error:
        return print_error(advised(error), "code", {"line": text, "input": input}, out)


CODE_COMMAND = Command(
    name="code",
    run=run_code,
    parameters=[LINE, INPUT, *[option for option in ASKING.values() if option.name != "opset"], *PRINTING.values()],
    summary="Answer a line of PyTorch, NumPy, TensorFlow or JAX; it is read, never run.",
    examples="""\
  shapecalc code 'x.view(B, T, h, C // h).transpose(1, 2)' --input x=B,T,C
  shapecalc code 'np.transpose(x, (0, 3, 1, 2))[:, None]' --input x=N,H,W,C
  shapecalc code "rearrange(x, 'b (h w) c -> b c h w', h=14)" --input x=8,196,768 -e""",
    more=""" It answers as chain does. Every name but the tensor's is a size; --where gives
numbers to names. Without --dialect, the modules and methods in the line decide whose rules apply.""",
)
