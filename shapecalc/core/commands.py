"""An op's command line as text, `reshape 2,3,4 0,-1 --allowzero`, and chains of them: how they are read and written.

    chain = input "|" stage {"|" stage}
    stage = op {value | option | option ("=" | blank) value}

Every front end reads its lines here, by the tables of options. Blanks inside brackets or quotes do not separate.
"""

from __future__ import annotations

from itertools import chain, takewhile

from shapecalc.core.answers import Request
from shapecalc.core.ask import DEFAULT_OPSET, operand_words, read_flag, switch_name, switches
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import KNOWN, Holds
from shapecalc.core.ops import OPS, dialects_with, params_of
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import USAGE, Problem, ShapeError, misuse, refusal
from shapecalc.core.record import Choice, Record, replace
from shapecalc.core.resolve import ask_chain, resolve_chain
from shapecalc.core.rules import AXIS_OUT_OF_RANGE
from shapecalc.core.text import (
    brief,
    is_file,
    lookup,
    rank_text,
    read_axes,
    read_shape,
    shape_text,
    split,
    suggestion,
    visible,
)
from shapecalc.core.values import read_axis_pattern, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from shapecalc.core.answers import Chain, Trace
    from shapecalc.core.dialects.base import Param
    from shapecalc.core.dims import Shape

    Spelled = tuple["Option", int | None]
    """An option, and the setting that one of its spellings stands for; None if a value follows."""


class Takes(Choice):
    """What an option takes on a command line."""

    NOTHING = "nothing: it is there or not"
    MORE = "nothing, or =all, which asks for everything"
    SWITCH = "nothing: it is on, or off as --no-..."
    TEXT = "a text"
    TEXTS = "a text each time that it is written"
    NUMBER = "a whole number"


VALUED = (Takes.TEXT, Takes.TEXTS, Takes.NUMBER)
ALL = "=all"
"""What follows the name of an option that asks for everything."""
MOST_DIGITS = 9
"""How many digits a number of an option may have."""


class Option(Record):
    """One option of a command."""

    name: str
    help: str
    takes: Takes = Takes.TEXT
    metavar: str = "NAME"
    """What the help calls its value."""
    long: str = ""
    """Its spelling, if that is not `--` and the name."""
    short: str = ""
    default: Any = None
    completions: Callable[[], Iterable[str]] | None = None
    """What a shell offers as its value."""
    lists_completions: bool = False
    """Whether the help goes on with what a shell offers."""
    shows_default: bool = False
    """Whether the help shows the default."""
    least: int = 0
    most: int = 0
    """The range of its number."""

    @property
    def spelling(self) -> str:
        """How it is written in full.

        >>> Option("follow_out", "...").spelling
        '--follow-out'
        """
        return self.long or f"--{_dashed(self.name)}"

    def spellings(self) -> dict[str, int | None]:
        """Return all its spellings, each with the setting that it stands for; None if a value follows.

        >>> Option("explain", "...", Takes.MORE, short="-e").spellings()
        {'--explain': 1, '-e': 1, '--explain=all': 2}
        """
        setting = None if self.takes in VALUED else 1 if self.takes is Takes.MORE else True
        found: dict[str, int | None] = dict.fromkeys(filter(None, (self.spelling, self.short)), setting)
        if self.takes is Takes.MORE:
            found[f"{self.spelling}{ALL}"] = 2
        if self.takes is Takes.SWITCH:
            found[f"--no-{self.spelling.removeprefix('--')}"] = False
        return found

    def value(self, text: str) -> Any:
        """Return what a text stands for; raise `ShapeError` (usage) for what is no number, or neither yes nor no.

        >>> jobs = Option("jobs", "...", Takes.NUMBER, least=1, most=256)
        >>> jobs.value("4"), Option("where", "...").value(" -1,4")
        (4, '-1,4')
        """
        if self.takes is Takes.SWITCH:
            return read_flag(text, self.name)
        if self.takes is not Takes.NUMBER:
            return without_padding(text)
        word = text.strip()
        if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS and self.least <= int(word) <= self.most:
            return int(word)
        shown = visible(brief(word))
        raise misuse(f"{self.spelling} is a whole number from {self.least} to {self.most}, not '{shown}'")


HELP = Option("help", "Show this message and exit.", Takes.NOTHING, short="-h")


class Typed(Record):
    """One op as it was typed: its input, if it names one, and its options as text."""

    op: str
    options: Mapping[str, object]
    input: str | None = None


class ExtraWordError(ShapeError):
    """A line has more words than there are places for."""


# The reader: words become values and options.


AXES = ("--axis", "--axes", "--dim", "--dims", "--perm")
"""The words of frameworks for the axes of an op, which mean one option here."""
LAYER = {
    "--first-transpose": "--first",
    "--reshape": "--to",
    "--reshape-dims": "--to",
    "--second-transpose": "--second",
}
"""TensorRT's words for the parts of a Shuffle."""


class Spellings:
    """Options by their spellings. An option is made when a spelling is looked up that those before it do not have.

    Those that come last need every dialect, and to import them takes longer than most answers.
    """

    def __init__(self, options: Iterable[Option]) -> None:
        """Look nothing up yet."""
        self._left, self._known = iter(options), dict[str, "Spelled"]()

    def find(self, spelling: str) -> Spelled | None:
        """Return the option that is written so, with the setting that this stands for; None if there is none."""
        while spelling not in self._known:
            option = next(self._left, None)
            if option is None:
                return self._likewise(spelling)
            self._known |= {each: (option, setting) for each, setting in option.spellings().items()}
        return self._known[spelling]

    def _likewise(self, spelling: str) -> Spelled | None:
        """Return the option that is written so elsewhere: with other dashes, or with another word for an axis."""
        spelling = f"--{_dashed(spelling[2:])}"
        alike = AXES if spelling in AXES else (LAYER.get(spelling, spelling),)
        return next((self._known[each] for each in alike if each in self._known), None)

    def error(self, word: str, owner: str) -> ShapeError:
        """Return the error to raise (usage) for an option that there is not."""
        self.find("")
        names = dict.fromkeys(option.spelling for option, _ in self._known.values())
        return misuse(f"{owner} has no option '{visible(word[:40])}'", suggestion(word.partition("=")[0], names))


def is_value(word: str) -> bool:
    """Say whether a word of a command line is a value: `-`, a shape that starts with it as `-1,4`, a pattern as `-> n`.

    >>> is_value("-1,4"), is_value("-"), is_value("-> n"), is_value("--json"), is_value("-q")
    (True, True, True, False, False)
    """
    return word[:1] != "-" or word == "-" or word[1].isdigit() or word[1] in " >"


def without_padding(text: str) -> str:
    """Return a value without the blank that keeps numbers from being taken for an option in some shells and programs.

    >>> without_padding(" -1,4"), without_padding(" -> n")
    ('-1,4', ' -> n')
    """
    return text[1:] if text[:2] == " -" and text[2:3].isdigit() else text


def sort_words(
    words: Iterable[str], known: Spellings, owner: str, *, takes_unknown: bool = False, named: bool = False
) -> tuple[list[str], dict[str, Any]]:
    """Return the plain values among words, and the options by name; behind `--` every word is a value.

    `takes_unknown` makes values of options that there are not. Raises `ShapeError` (usage) for them otherwise. With
    `named`, values are options that are written as in Python, `axis=1`.

    >>> sort_words(["1,3,1", "--axes", "-1", "-donnx"], op_spellings(OPS["squeeze"]), "squeeze")
    (['1,3,1'], {'axes': '-1', 'dialect': 'onnx'})
    """
    values: list[str] = []
    given: dict[str, Any] = {}
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            values += waiting
        elif is_value(word):
            if not (named and "=" in word and _read_option(f"--{word}", waiting, known, given)):
                values.append(without_padding(word))
        elif not _read_option(word, waiting, known, given):
            if not takes_unknown:
                raise known.error(word, owner)
            values.append(word)
    return values, given


def _read_option(word: str, waiting: Iterator[str], known: Spellings, given: dict[str, Any]) -> bool:
    """Put an option into `given`, with its value if it takes one; return False if there is no such option."""
    spelling, equals, text = word.partition("=")
    if equals + text == ALL and known.find(word):
        spelling, equals, text = word, "", ""
    elif word[:2] != "--" and len(word) > 2:  # several short ones, or one with its value
        spelling, equals, text = word[:2], "", word[2:]
    found = known.find(spelling)
    if found is None:
        return False
    option, setting = found
    if setting is None or (equals and setting and option.takes is Takes.SWITCH):
        value = text if equals or text else next(waiting, None)
        if value is None:
            raise misuse(f"{spelling} needs a value")
        read = option.value(value)
        given[option.name] = [*given.get(option.name, ()), read] if option.takes is Takes.TEXTS else read
        return True
    if equals:
        raise misuse(f"{spelling} takes no value")
    given[option.name] = setting if isinstance(setting, bool) else given.get(option.name, 0) + setting
    return not text or _read_option(f"-{text}", waiting, known, given)


def place_values(values: Sequence[str], places: Sequence[str], given: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return what was given, with the values by the names of their places; raise `ShapeError` (usage) for others."""
    if len(values) > len(places):
        raise ExtraWordError(Problem(USAGE, f"{owner} does not take '{visible(values[len(places)][:40])}'"))
    placed = dict(zip(places, values, strict=False))
    for name in placed.keys() & given.keys():
        raise misuse(f"{name} is given twice, by its place and by its name", argument=name)
    return {**given, **placed}


def check_needed(given: Mapping[str, Any], needed: Mapping[str, str]) -> None:
    """Raise `ShapeError` (usage) if an argument is missing that is `needed`, with what the help calls it."""
    for name, metavar in needed.items():
        if name not in given:
            raise misuse(f"missing argument '{metavar}'", argument=name)


# The table of an op's line: its parameters, and the options that every op has.


def by_name(*options: Option) -> dict[str, Option]:
    """Return options by name, in order."""
    return {option.name: option for option in options}


def _opsets() -> list[str]:
    """Return every ONNX opset that some dialect knows."""
    return [str(opset + 1) for opset in range(max(row.newest_opset or 0 for row in DIALECTS.values()))]


ASKING = by_name(
    Option("dialect", "Whose rules", short="-d", completions=lambda: DIALECTS, lists_completions=True),
    Option("opset", f"The model's ONNX opset; {DEFAULT_OPSET} by default.", metavar="N", completions=_opsets),
    Option(
        "dtype",
        "The element type, in NumPy's or the framework's spelling; refused if the operator refuses it.",
        completions=lambda: sorted(KNOWN),
    ),
    Option("where", "Sizes for names: N=8,C=3.", metavar="SIZES"),
)
"""The options that decide whose rules apply, and to which sizes."""
SWITCH_HELP = {
    "allowzero": "ONNX, since opset 14: 0 is a dim of size zero.",
    "special_zero": "oneDNN and OpenVINO, required there: 0 copies a dim.",
    "zero_is_placeholder": "TensorRT, on by default: 0 copies a dim.",
}
METAVARS = {
    **dict.fromkeys((Holds.AXES, Holds.PERM), "AXES"),
    **dict.fromkeys((Holds.PATTERN, Holds.SUBSCRIPTS), "PATTERN"),
    **dict.fromkeys((Holds.TARGET, Holds.SHAPE), "SHAPE"),
    **{holds: holds.name for holds in (Holds.SLICES, Holds.LENGTHS, Holds.SIZES)},
    Holds.INT: "I",
}
"""What the help calls the value of an option that is a parameter, by what it holds."""


_spelled: dict[str, tuple[Op, Spellings]] = {}
"""The options of the ops that were asked for."""


def switch_options(op: Op | None = None) -> list[Option]:
    """Return the dialects' switches as options; of an op those that some dialect has for it."""
    zeros = switches()
    names = zeros if op is None else {switch_name(op, row) for row in dialects_with(op)}
    made = []
    for name in sorted(zeros.keys() & names):
        having = [row.name for row in DIALECTS.values() if row.switch is not None and row.switch.name == name]
        said = SWITCH_HELP.get(name) or f"{', '.join(having)}: 0 {zeros[name].value}."
        made.append(Option(name, said, Takes.SWITCH))
    return made


def asking_options(op: Op | None = None) -> list[Option]:
    """Return the options that decide whose rules apply, to an op or to every stage of a chain."""
    return [*ASKING.values(), *switch_options(op)]


def op_options(op: Op) -> Iterator[Option]:
    """Yield the options of an op's line, its arguments among them; last those that need every dialect."""
    yield from map(option_of, op.params)
    yield from ASKING.values()
    yield from map(option_of, params_of(op)[len(op.params) :])
    yield from switch_options(op)


def op_spellings(op: Op) -> Spellings:
    """Return the options of an op's line by their spellings; they are the same for all its lines."""
    if op.name not in _spelled or _spelled[op.name][0] is not op:
        _spelled[op.name] = op, Spellings(op_options(op))
    return _spelled[op.name][1]


def option_of(param: Param) -> Option:
    """Return how a line has a parameter by its name: a switch for yes or no, otherwise a text, which `ask` reads."""
    words, said = param.words, f"{param.help[:1].upper()}{param.help[1:]}."
    if param.holds is Holds.FLAG:
        return Option(param.name, said, Takes.SWITCH)
    metavar = METAVARS.get(param.holds) or "|".join(words)
    return Option(param.name, said, metavar=metavar, completions=(lambda: words) if words else None)


def read_op(op: Op, words: Sequence[str], others: Iterable[Option] = ()) -> dict[str, Any]:
    """Return what a whole line of an op gives by name; `others` are options that it may have beside its own.

    Raises `ShapeError` (usage) for what it does not take, and if an argument is missing. Help is always given.

    >>> read_op(OPS["reshape"], ["2,3,4", "-1,4", "-d", "onnx", "--no-allowzero"])
    {'dialect': 'onnx', 'allowzero': False, 'input': '2,3,4', 'target': '-1,4'}
    """
    known = Spellings(chain(others, [HELP], op_options(op)))
    values, given = sort_words(words, known, op.name, named="lengths" not in op.places)
    if HELP.name in given:
        return given
    places = ("input", *op.places)
    given = place_values(in_places(values, places), places, given, op.name)
    check_needed(given, {"input": "INPUT"} | {each.name: each.name.upper() for each in op.params if each.required})
    return given


def in_places(values: Sequence[str], places: Sequence[str]) -> list[str]:
    """Return the values of an op's line with a pattern in its place, all other operands as one, and all lengths as one.

    A pattern and a shape may stand in either order: a pattern has an arrow. That of einsum may have none, and is
    first.

    >>> in_places(["a b -> b a", "2,3"], ("input", "pattern"))
    ['2,3', 'a b -> b a']
    """
    values = [*values]
    if "pattern" in places:
        place = places.index("pattern")
        found = next((at for at, each in enumerate(values) if "->" in each), 0 if "operands" in places else place)
        if found < len(values) > place:
            values.insert(place, values.pop(found))
    if [*places[-1:]] == ["lengths"] and len(values) > len(places):
        values[len(places) - 1 :] = [",".join(values[len(places) - 1 :])]
    if "operands" in places:
        place = places.index("operands")
        values[place:] = [" ".join(values[place:])] if len(values) > place else []
    return values


# Words of frameworks for ops that have another name here, or none.


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

    Raises `ShapeError` for what a word that becomes a chain refuses, or cannot be without its input.

    >>> respelled(["permute", "2,3,4", "2,0,1"]), respelled(["permute", "2,3", "1,0", "-d", "numpy"])[-1]
    (['transpose', '2,3,4', '2,0,1', '--dialect', 'torch'], 'numpy')
    >>> respelled(["rot90", "2,3", "--json"])
    ['chain', '2,3 | flip 1 --dialect numpy | swapaxes 0 1 --dialect numpy', '--json']
    """
    if words and words[0] == "repeat" and any("->" in word for word in words):
        return ["rearrange", *words[1:]]
    if not words or words[0] not in SPELLINGS.keys() | MADE.keys():
        return [*words]
    op, dialect = SPELLINGS.get(words[0]) or MADE[words[0]][:2]
    values = list(takewhile(is_value, words[1:]))
    if words[0] in SPELLINGS or not values:
        return [op, *_in_dialect(words[1:], dialect)]
    stages, rest = made_stages(words[0], _input_of(words), values[1:]), words[1 + len(values) :]
    if len(stages) == 1:
        return [stages[0][0], values[0], *stages[0][1:], *_in_dialect(rest, dialect)]
    own = _in_dialect(rest, dialect)[len(rest) :]
    return ["chain", " | ".join([values[0], *[_in_quotes([*stage, *own]) for stage in stages]]), *rest]


def _in_quotes(words: Iterable[str]) -> str:
    """Return the words of a stage as they are typed: what holds blanks has quotes."""
    return " ".join([f'"{word}"' if " " in word else word for word in words])


def _in_dialect(words: Sequence[str], dialect: str) -> list[str]:
    """Return words that name their dialect: this one, unless they do."""
    named = any(word in ("-d", "--dialect") or word.startswith("--dialect=") for word in words)
    return [*words, *([] if named else ["--dialect", dialect])]


def _input_of(words: Sequence[str]) -> Shape:
    if words[1] == "-" or is_file(words[1]):
        raise misuse(f"{words[0]} needs a shape that is written here", f"write {MADE[words[0]][0]} for data")
    return read_shape(words[1])


# Words of frameworks that become a few stages, made of the shape that they are asked of.


def made_stages(name: str, shape: Shape, values: Sequence[str]) -> list[list[str]]:
    """Return the words of the stages that a word of frameworks stands for; raise `ShapeError` if it refuses the shape.

    >>> made_stages("narrow", (2, 8), ["1", "-3", "2"]), made_stages("rollaxis", (2, 3, 4), ["2"])
    ([['slice', ':,5:7']], [['moveaxis', '2', '0']])
    """
    _, _, places, make = MADE[name]
    names = [place.partition("/")[0].rstrip("?") for place in places]
    given = place_values(in_places(values, names), names, {}, name)
    check_needed(given, {each: each.upper() for each, place in zip(names, places, strict=True) if place[-1] != "?"})
    readers = {"axes": read_axes, **dict.fromkeys(("pattern", "lengths"), lambda text, _: text)}
    read = {each: readers.get(each, whole_number)(text, each) for each, text in given.items()}
    stages: list[list[str]] = make(shape, **read)
    return stages


def _narrow(shape: Shape, axis: int, start: int, length: int) -> list[list[str]]:
    """Return the slice that `torch.narrow` is, which takes no position that there is not."""
    place = _axis(axis, len(shape), len(shape))
    dim, first = shape[place], start
    if not isinstance(dim, int):
        raise misuse(f"narrow needs the size of dim {place}, {dim}", "write slice, or the size")
    first += dim if first < 0 else 0
    if not 0 <= first <= first + length <= dim:
        from shapecalc.core.ops.slice import SLICE_OUT_OF_BOUNDS  # most lines have no such word

        message = f"dim {place} is {brief(str(dim))}, and has no {length} positions from {start} on"
        raise refusal(SLICE_OUT_OF_BOUNDS, message)
    return [["slice", ",".join([*[":"] * place, f"{first}:{first + length}"])]]


def _rot90(shape: Shape, k: int = 1, axes: Sequence[int] = (0, 1)) -> list[list[str]]:
    """Return the flip and the swap that `numpy.rot90` is."""
    places = [_axis(axis, len(shape), len(shape)) for axis in axes]
    if len({*places}) != 2 or len(places) != 2:
        raise misuse("rot90 turns two different axes", argument="axes")
    first, second = map(str, places)
    flip, swap = ["flip", second], ["swapaxes", first, second]
    return [[["flip", "[]"]], [flip, swap], [["flip", f"{first},{second}"]], [swap, flip]][k % 4]


def _rollaxis(shape: Shape, axis: int, start: int = 0) -> list[list[str]]:
    """Return the move of an axis that `numpy.rollaxis` is: to before the axis that is at `start` now."""
    rank = len(shape)
    place, end = _axis(axis, rank, rank), _axis(start, rank, rank + 1)
    return [["moveaxis", str(place), str(end - (place < end))]]


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
REDUCTIONS = ("any", "all", "max", "mean", "min", "prod", "sum")
"""What einops may do along the axes that go; none has a say in the shape."""


def _reduce(shape: Shape, pattern: str, lengths: str = "") -> list[list[str]]:
    """Return the split, the sum and the merge that `einops.reduce` is."""
    left, _, right = pattern.partition("->")
    dims = read_axis_pattern(f"{left}->{left}" if "->" in pattern else pattern).left
    others = " ".join([f"e{number}" for number in range(len(shape) - len(dims) + 1)])
    left, right = (side.replace("...", others).strip() for side in (left, right))
    axes, wanted = (side.translate({40: " ", 41: " "}).split() for side in (left, right))
    axes = [axis for axis in axes if axis != "1"]
    kept = [axis for axis in axes if axis in wanted]
    given = ",".join([word for word in lengths.split(",") if word not in ("", *REDUCTIONS)])
    stages = [["rearrange", f"{left} -> {' '.join(axes)}", *([given] if given else [])]]
    if left.split() == axes and not given:
        stages = []
    if kept != axes:
        if len(axes) > len(LETTERS):
            raise misuse(f"reduce knows {len(LETTERS)} axes at most", argument="pattern")
        letters = dict(zip(axes, LETTERS, strict=False))
        stages.append(["einsum", f"{''.join(letters.values())}->{''.join([letters[axis] for axis in kept])}"])
    if right.split() != kept or not stages:
        stages.append(["rearrange", f"{' '.join(kept)} -> {right}"])
    return stages


def _axis(axis: int, rank: int, count: int) -> int:
    """Return an axis, or one of `count` places, counted from 0; raise `ShapeError` (axis-out-of-range)."""
    if not -rank <= axis < count:
        raise refusal(AXIS_OUT_OF_RANGE, f"axis {axis} does not exist: the input has {rank_text(rank)}")
    return axis % rank if axis < 0 else axis


MADE: dict[str, tuple[str, str, tuple[str, ...], Any]] = {
    "narrow": ("slice", "torch", ("axis/dim", "start", "length"), _narrow),
    "rot90": ("flip", "numpy", ("k?", "axes/dims?"), _rot90),
    "rollaxis": ("moveaxis", "numpy", ("axis", "start?"), _rollaxis),
    "reduce": ("rearrange", "numpy", ("pattern", "lengths?"), _reduce),
}
"""Words that become stages: an op that they are like, the dialect that has them, their values, and what makes them."""


def spelled_out(text: str) -> str:
    """Return a chain with the stages that words such as `rot90` become in their place.

    Raises `ShapeError` for such a word behind a stage that is refused, and for what it refuses itself.

    >>> spelled_out("2,3,4 | transpose 2,0,1 | narrow 0 1 2")
    '2,3,4 | transpose 2,0,1 | slice 1:3 --dialect torch'
    """
    if not any(word in text for word in MADE):
        return text
    shape, *stages = split(text, "|")
    for place, stage in enumerate(stages):
        words = split(stage)
        if words and words[0] in MADE:
            values = list(takewhile(is_value, words[1:]))
            own = _in_dialect(words[1 + len(values) :], MADE[words[0]][1])
            made = made_stages(words[0], _reached("|".join([shape, *stages[:place]])), values)
            stages[place] = f" {' | '.join([_in_quotes([*each, *own]) for each in made])} "
    return "|".join([shape, *stages]).rstrip()


def _reached(text: str) -> Shape:
    """Return the output of a chain that may have no stage; raise `ShapeError` if it is refused."""
    shape, asked = read_chain(text)
    if not asked:
        return read_shape(shape)
    answer = resolve_chain(ask_chain(shape, asked, {}))
    if answer.problem is not None:
        raise ShapeError(answer.problem)
    return answer.output or ()


def elsewhere_error(name: str) -> ShapeError | None:
    """Return the error to raise (usage) for a name that is no op here but one elsewhere; None for other names."""
    if name not in ELSEWHERE:
        return None
    why, instead = ELSEWHERE[name]
    return misuse(f"there is no {name} here: {why}", instead)


# Lines and chains, read.


def op_called(name: str) -> Op:
    """Return the op of that name; raise `ShapeError` (usage) if there is none."""
    if "," in name or name[:1].isdigit():
        shown = visible(brief(name))
        raise misuse(f"'{shown}' stands where an op is expected", f"write reshape {shown} ..., or {shown} | OP ...")
    return lookup(name, OPS, "operation", others=SPELLINGS, all_by="shapecalc -h")


def read_stage(words: Sequence[str], *, with_input: bool) -> Typed:
    """Return the op, input and options of one stage; raise `ShapeError` (usage) for what the op does not take.

    >>> read_stage(["reshape", "0,-1", "--opset", "13"], with_input=False).options
    {'opset': '13', 'target': '0,-1'}
    """
    if not words:
        raise misuse("an operation is missing", f"the operations are {', '.join(OPS)}")
    words = respelled(words)
    elsewhere = elsewhere_error(words[0])
    if elsewhere is not None:
        raise elsewhere
    op = op_called(words[0])
    values, given = sort_words(words[1:], op_spellings(op), op.name, named="lengths" not in op.places)
    if with_input and values:
        values = in_places(values, ("input", *op.places))
    shape = values.pop(0) if with_input and values else None
    try:
        return Typed(op.name, place_values(in_places(values, op.places), op.places, given, op.name), shape)
    except ExtraWordError as error:
        raise misuse(error.problem.message, usage(op, with_input=with_input)) from None


def read_values(words: Sequence[str]) -> list[str]:
    """Return the plain values of a stage, in order, without its options.

    >>> read_values(["squeeze", "1,3,1", "--axes", "0"])
    ['1,3,1']
    """
    op = op_called(words[0])
    return sort_words(words[1:], op_spellings(op), op.name)[0]


def usage(op: Op, *, with_input: bool = True) -> str:
    """Return what to write for an op.

    >>> usage(OPS["transpose"])
    'write transpose INPUT [PERM]'
    """
    slots = [(param.name.upper(), param.required) for param in op.params if param.positional]
    words = [name if required else f"[{name}]" for name, required in slots]
    options = [param for param in params_of(op) if not param.positional]
    words += [f"[--{_dashed(param.name)}{'' if param.holds is Holds.FLAG else ' ...'}]" for param in options]
    return " ".join(["write", op.name, *(["INPUT"] if with_input else []), *words])


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def read_chain(text: str) -> tuple[str, list[tuple[str, Mapping[str, object]]]]:
    """Return the input and the stages of a chain; raise `ShapeError` (usage) if it cannot be read.

    >>> read_chain("2,3,4 | transpose 1,0,2 | reshape 2,-1,3")
    ('2,3,4', [('transpose', {'perm': '1,0,2'}), ('reshape', {'target': '2,-1,3'})])
    """
    shape, *stages = split(spelled_out(text), "|")
    words = [split(stage) for stage in stages]
    if [] in words:
        hint = "write INPUT | OP ..., such as 2,3 | flatten, or the input alone"
        raise misuse("an operation is missing after |", hint)
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
    message = "a chain is one text in quotes, and the only option here is --where"
    raise misuse(message, "write 'INPUT | OP ... | OP ...'")


# Lines and chains, written.


def command_pieces(op: str, texts: Mapping[str, object]) -> list[tuple[str | None, str]]:
    """Return the pieces of the command line that asks this, each with the argument it writes.

    >>> command_pieces("reshape", {"input": "2,3,4", "target": "0,-1", "allowzero": True})
    [(None, 'reshape'), ('input', '2,3,4'), ('target', '0,-1'), (None, '--allowzero')]
    """
    flags = {each.name for each in params_of(OPS[op]) if each.holds is Holds.FLAG} if op in OPS else set()
    slots = ("input", *[name for name in (OPS[op].slots if op in OPS else texts) if name != "input"])
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
        if name != "operands"
    }
    if "operands" in values:
        texts["operands"] = " ".join(operand_words(request))
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
    return _in_quotes(_words(op, options))


def _requests(answer: Trace | Chain) -> list[Request]:
    return [replace(trace.request, written={}) for trace in answer.traces]


def _words(op: str, texts: Mapping[str, object]) -> list[str]:
    pieces = command_pieces(op, texts)
    return [word for name, text in pieces for word in (split(text) if name == "operands" else [text])]


# Where a token stands in the stages of a chain.


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
