"""Words of frameworks for ops: those that are shapecalc's under another name, and those that have no op here."""

from __future__ import annotations

from shapecalc.core.answers import Request
from shapecalc.core.ask import common_options, read_flag, switches
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Holds
from shapecalc.core.lookup import lookup, suggestion
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import ask_chain
from shapecalc.core.text import shape_text, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.answers import Chain, Trace
    from shapecalc.core.dialects.base import Param
    from shapecalc.core.problem import Problem


SPELLINGS = {"permute": ("transpose", "torch"), "movedim": ("moveaxis", "torch"), "swapdims": ("swapaxes", "torch")}
"""Other names of ops: the op, and the dialect that calls it so."""
ELSEWHERE = {
    "reshape_as": ("it needs the shape of another tensor", "write that shape: reshape INPUT TARGET"),
    "view_as": ("it needs the shape of another tensor", "write that shape: view INPUT TARGET"),
    "expand_as": ("it needs the shape of another tensor", "write that shape: expand INPUT TARGET"),
    "repeat": (
        "it can mean three things",
        "PyTorch repeats the whole: tile 2,3 2,1; NumPy repeats each element: rearrange 2,3 'a b -> (a r) b' r=2; "
        "einops follows a pattern: rearrange 2,3 'a b -> r a b' r=2",
    ),
}
"""Names that are no ops: why, and what to write in their place."""


def respelled(words: Sequence[str]) -> list[str]:
    """Return the words of a request with shapecalc's own name of the op, and the dialect that has the other name.

    >>> respelled(["permute", "2,3,4", "2,0,1"]), respelled(["permute", "2,3", "1,0", "-d", "numpy"])[-1]
    (['transpose', '2,3,4', '2,0,1', '--dialect', 'torch'], 'numpy')
    """
    if not words or words[0] not in SPELLINGS:
        return [*words]
    op, dialect = SPELLINGS[words[0]]
    named = any(word in ("-d", "--dialect") or word.startswith("--dialect=") for word in words)
    return [op, *words[1:], *([] if named else ["--dialect", dialect])]


def elsewhere_error(name: str) -> ShapeError | None:
    """Return the error to raise (usage) for a name that is no op here but one elsewhere; None for other names."""
    if name not in ELSEWHERE:
        return None
    why, instead = ELSEWHERE[name]
    return misuse(f"there is no {name} here: {why}", instead)


# An op's command line as text: `reshape 2,3,4 0,-1 --allowzero`, and chains of them.
#
#     chain = input "|" stage {"|" stage}
#     stage = op {value | "--" name [("=" | blank) value]}
#
# Stages of a chain, plain lines of case files and the prompt are read here, with the options that the commands have.
# Blanks inside brackets or quotes do not separate.


SHORT = {"-d": "--dialect"}
"""The options that have a short form."""
OPENING, CLOSING, QUOTES = "[({", "])}", "'\""


class Typed(Record):
    """One op as it was typed: its input, if it names one, and its options as text."""

    op: str
    options: Mapping[str, object]
    input: str | None = None


def split(text: str, separator: str | None = None) -> list[str]:
    """Split at blanks, or at `separator`, outside brackets and quotes; quotes around a piece are dropped.

    Raises `ShapeError` (usage) for a quote that is never closed.

    >>> split("reshape [2, 3, 4] '0, -1'")
    ['reshape', '[2, 3, 4]', '0, -1']
    """
    pieces, piece, depth, quote = list[str](), list[str](), 0, ""
    started = False
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in QUOTES:
            quote, started = char, True
        elif char in OPENING:
            depth += 1
        elif char in CLOSING:
            depth -= 1
        if not quote and depth <= 0 and (char == separator if separator else char.isspace()):
            if started or separator:
                pieces.append("".join(piece))
            piece, started = [], False
        elif separator or char not in QUOTES:
            piece.append(char)
            started = True
    if quote:
        raise misuse(f"the quote {quote} is never closed")
    return [*pieces, "".join(piece)] if started or separator else pieces


def read_stage(words: Sequence[str], *, with_input: bool) -> Typed:
    """Return the op, input and options of one stage; raise `ShapeError` (usage) for what the op does not take.

    >>> read_stage(["reshape", "0,-1", "--opset", "13"], with_input=False).options
    {'opset': '13', 'target': '0,-1'}
    """
    if not words:
        raise misuse("an operation is missing", f"the operations are {', '.join(OPS)}")
    words = respelled(words)
    error = elsewhere_error(words[0])
    if error is not None:
        raise error
    op = lookup(words[0], OPS, "operation", others=SPELLINGS, all_by="shapecalc -h")
    values, options = _sort_words(op, words[1:])
    shape = values.pop(0) if with_input and values else None
    slots = op.places
    if len(values) > len(slots):
        raise misuse(f"{op.name} does not take '{visible(values[len(slots)][:40])}'", usage(op, with_input=with_input))
    placed = dict(zip(slots, values, strict=False))
    for name in placed.keys() & options.keys():
        raise misuse(f"{name} is given twice, by its place and by its name", argument=name)
    return Typed(op.name, options | placed, shape)


def read_values(words: Sequence[str]) -> list[str]:
    """Return the plain values of a stage, in order, without its options.

    >>> read_values(["squeeze", "1,3,1", "--axes", "0"])
    ['1,3,1']
    """
    return _sort_words(lookup(words[0], OPS, "operation", others=SPELLINGS, all_by="shapecalc -h"), words[1:])[0]


def usage(op: Op, *, with_input: bool = True) -> str:
    """Return what to write for an op.

    >>> usage(OPS["transpose"])
    'write transpose INPUT [PERM]'
    """
    words = [
        param.name.upper() if param.required else f"[{param.name.upper()}]" for param in op.params if param.positional
    ]
    options = [param for param in params_of(op) if not param.positional]
    words += [f"[--{_dashed(param.name)}{'' if param.holds is Holds.FLAG else ' ...'}]" for param in options]
    return " ".join(["write", op.name, *(["INPUT"] if with_input else []), *words])


def _sort_words(op: Op, words: Sequence[str]) -> tuple[list[str], dict[str, object]]:
    """Return the plain values among `words`, and the options by name."""
    params = params_of(op)
    known = {_dashed(name): name for name in (*common_options(), *(param.name for param in params))}
    flags = {*switches(), *_flags(params)}
    values: list[str] = []
    options: dict[str, object] = {}
    waiting = iter(words)
    for word in waiting:
        if not is_option(word):
            values.append(word)
            continue
        spelled, equals, text = SHORT.get(word, word).removeprefix("--").partition("=")
        name = known.get(spelled) if SHORT.get(word, word).startswith("--") else None
        if name in flags and not equals:
            options[name] = True
        elif name is None and known.get(spelled.removeprefix("no-")) in flags and not equals:
            options[known[spelled.removeprefix("no-")]] = False
        elif name is None:
            raise misuse(f"{op.name} has no option '{visible(word[:40])}'", suggestion(spelled, known))
        else:
            value = text if equals else next(waiting, None)
            if value is None:
                raise misuse(f"--{spelled} needs a value")
            options[name] = read_flag(value, name) if name in flags else value
    return values, options


def _flags(params: Sequence[Param]) -> set[str]:
    """Return the names of those parameters that are yes or no."""
    return {param.name for param in params if param.holds is Holds.FLAG}


def is_option(word: str) -> bool:
    """Say whether a word is an option: what starts with `-` and a digit is a value, and so are `-` and `-> n`."""
    return word.startswith("-") and len(word) > 1 and not word[1].isdigit() and word[1] != ">"


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def read_chain(text: str) -> tuple[str, list[tuple[str, Mapping[str, object]]]]:
    """Return the input and the stages of a chain; raise `ShapeError` (usage) if it cannot be read.

    >>> read_chain("2,3,4 | transpose 1,0,2 | reshape 2,-1,3")
    ('2,3,4', [('transpose', {'perm': '1,0,2'}), ('reshape', {'target': '2,-1,3'})])
    """
    shape, *stages = split(text, "|")
    words = [split(stage) for stage in stages]
    if [] in words:
        raise misuse(
            "an operation is missing after |", "write INPUT | OP ..., such as 2,3 | flatten, or the input alone"
        )
    read = [read_stage(each, with_input=False) for each in words]
    return " ".join(split(shape)), [(stage.op, stage.options) for stage in read]


def read_chain_words(words: Sequence[str]) -> tuple[str, dict[str, object]]:
    """Return the text and the options of `'INPUT | OP ...' [--where SIZES]`; raise `ShapeError` (usage) for others.

    >>> read_chain_words(["N,3 | flatten", "--where", "N=2"])
    ('N,3 | flatten', {'where': 'N=2'})
    """
    match list(words):
        case [text]:
            return text, {}
        case [text, "--where", sizes]:
            return text, {"where": sizes}
    raise misuse(
        "a chain is one text in quotes, and the only option here is --where", "write 'INPUT | OP ... | OP ...'"
    )


def command_pieces(op: str, texts: Mapping[str, object]) -> list[tuple[str | None, str]]:
    """Return the pieces of the command line that asks this, each with the argument it writes.

    >>> command_pieces("reshape", {"input": "2,3,4", "target": "0,-1", "allowzero": True})
    [(None, 'reshape'), ('input', '2,3,4'), ('target', '0,-1'), (None, '--allowzero')]
    """
    slots, flags = (OPS[op].slots, _flags(params_of(OPS[op]))) if op in OPS else (tuple(texts), set())
    slots = ("input", *(name for name in slots if name != "input"))
    pieces: list[tuple[str | None, str]] = [(None, op)]
    pieces += [(name, str(texts[name])) for name in slots if texts.get(name) is not None]
    for name, value in texts.items():
        if name in slots or value is None:
            continue
        if isinstance(value, bool) or (name in flags and value in ("0", "1")):
            pieces.append((None, f"--{'' if value in (True, '1') else 'no-'}{_dashed(name)}"))
        else:
            pieces += [(None, f"--{_dashed(name)}"), (name, str(value))]
    return pieces


def texts_of(request: Request) -> dict[str, object]:
    """Return the arguments of a request as texts: as they were typed, or as shapecalc writes them."""
    values = {"input": request.input, **request.arguments}
    texts: dict[str, object] = {
        name: request.written.get(name) or (shape_text(value) if isinstance(value, tuple) else value)
        for name, value in values.items()
    }
    if request.dialect != OPS[request.op].default_dialect:
        texts["dialect"] = request.dialect
    switch = DIALECTS[request.dialect].switch
    if switch and request.switch is not None:
        texts[switch.name] = request.switch
    return texts | {"opset": request.opset, "dtype": request.dtype}


def command_line(answer: Trace | Chain) -> str:
    """Return the shell's line that asks what `answer` answers, with its shapes as shapecalc writes them.

    Of a chain that was stopped it holds the stages up to the one that stopped it.

    >>> import shapecalc as sc
    >>> print(command_line(sc.shuffle((3, 4), first=(1, 0), to=(0, -1))))
    shapecalc shuffle 3,4 --first 1,0 --to 0,-1
    >>> print(command_line(sc.chain((2, 3), "transpose", "reshape 1,-1")))
    shapecalc chain '2,3 | transpose | reshape 1,-1'
    """
    from shlex import join

    if answer.op == "chain":
        return join(["shapecalc", "chain", chain_text(answer)])
    (request,) = _requests(answer)
    return join(["shapecalc", *_words(request.op, texts_of(request))])


def chain_text(answer: Trace | Chain) -> str:
    """Return a chain as it is typed, with its shapes as shapecalc writes them.

    >>> import shapecalc as sc
    >>> chain_text(sc.chain((2, 3), "transpose", "reshape [1, -1]"))
    '2,3 | transpose | reshape 1,-1'
    """
    return " | ".join([shape_text(answer.input), *map(stage_line, _requests(answer))])


def stage_line(request: Request) -> str:
    """Return a request as a stage of a chain: without its input.

    >>> import shapecalc as sc
    >>> stage_line(sc.reshape((2, 3), (0, -1)).request)
    'reshape 0,-1'
    """
    return stage_text(request.op, {**texts_of(request), "input": None})


def stage_text(op: str, options: Mapping[str, object]) -> str:
    """Return a stage of a chain as it is typed: what holds blanks has quotes.

    >>> stage_text("rearrange", {"pattern": "b c -> c b"})
    'rearrange "b c -> c b"'
    """
    return " ".join([f'"{word}"' if " " in word else word for word in _words(op, options)])


def _requests(answer: Trace | Chain) -> list[Request]:
    return [replace(trace.request, written={}) for trace in answer.traces]


def _words(op: str, texts: Mapping[str, object]) -> list[str]:
    return [text for _, text in command_pieces(op, texts)]


# Where in the stages of a chain, as they were typed, a token stands.


def unreadable_stage(stages: str) -> int | None:
    """Return the index of the first stage that cannot be read by itself; None if each can.

    >>> unreadable_stage("transpose 1,0 | reshap -1 | flatten")
    1
    """
    for number, stage in enumerate(split(stages, "|")):
        try:
            read = read_stage(split(stage), with_input=False)
            ask_chain((), [(read.op, read.options)], {})
        except ShapeError:
            return number
    return None


def token_span(stages: str, number: int, problem: Problem) -> tuple[int, int]:
    """Return the characters of the token that a problem of one stage is about; of the stage if that is not known.

    >>> from shapecalc.core.rules import INDIVISIBLE
    >>> from shapecalc.core.problem import Problem
    >>> token_span("transpose | reshape 5,-1", 1, Problem(INDIVISIBLE, "", argument="target", span=(2, 4)))
    (22, 24)
    """
    pieces = split(stages, "|")
    start = sum(len(piece) + 1 for piece in pieces[:number])
    piece = pieces[number]
    try:
        value = read_stage(split(piece), with_input=False).options.get(problem.argument or "")
    except ShapeError:
        value = None
    import re  # only a problem in a chain is looked for

    found = [*re.finditer(rf"(?<![^\s'\"=]){re.escape(str(value))}(?![^\s'\"])", piece)]
    if problem.span is None or len(found) != 1:
        return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    begin = start + found[0].start()
    return begin + problem.span[0], begin + problem.span[1]
