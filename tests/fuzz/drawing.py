"""Command lines drawn by a seed: requests that nearly make sense, and changes of those that are known."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import cache

import numpy as np

from shapecalc.cli.options import COMMANDS, Argument, parameters_of
from shapecalc.core.commands import MADE, Takes
from shapecalc.core.ops import OPS, every_rule
from shapecalc.teaching import TOPICS
from tests.fuzz.running import Attempt

DIMS = [*"0123468", "12", "64", "-1", "-1", "-2", "-4", "N", "C", "H*W", "3*H*W", "C*H*W/64", "N/N", "?", "1/N"]
ODD = [
    *("", " ", "  ", "\x1b[2J", "\udcff", "\N{SUPERSCRIPT TWO}", "\u202e", "x", "1e3", "=", "|", "'", '"', "#", "=>"),
    *("9" * 30, "9" * 1200, "-9223372036854775808", "9223372036854775807", "N/0", "N*", "[", "]", "torch.Size([2])"),
    *(
        "\r",
        "\t",
        "\x00",
        "ans",
        "--",
        "-",
        "-d",
        "...",
        "@default",
        "x.npy",
        "x.npz:w",
        "::error::",
        "\N{BOM}",
        "onn",
        "ONNX",
    ),
]
"""Pieces that are seldom right."""
SHAPES = {"SHAPE", "AXES", "INDEX", "SIZES"}
PATTERNS = ["ij,jk->ik", "ij->ji", "...i,i->...", "ii", "ij,ij", "->", "i,j,k->kji", "a b -> (a b)", "a b -> a b 2"]
HEADERS = ["{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }", "{'shape': (True,)}", "[" * 50, "{}", ""]
OTHERS = [
    name
    for name in COMMANDS
    if name not in ("chain", "equiv", "check", "repl", "compare", "find", "match", "tui", "serve", "vectors")
]


def drawn(random, known):
    """Return an attempt: a new one, or one of the known with changes. No system passes a null character in a word."""
    attempt = _any(random, known)
    return replace(attempt, words=tuple(word.replace("\0", "") for word in attempt.words))


def _any(random, known):
    if known and random.random() < 0.5:
        return _changed(random, random.choice(known))
    chosen = random.random()
    if chosen < 0.86:
        return _question(random)
    if chosen < 0.9:
        return Attempt(("check", "-", *_some(random, CHECKING)), _cases(random))
    if chosen < 0.93:
        chain, other = (
            " | ".join([shape, *(_stage(random) for _ in range(random.randint(0, 3)))])
            for shape in (_shape(random), "")
        )
        if random.random() < 0.5:
            return Attempt(("equiv", chain, other, *_some(random, ["--json", "--strict", "-q"])))
        return Attempt(("chain", chain, *_options(random, "reshape", 1)))
    if chosen < 0.94:
        return Attempt(("find", _shape(random), _shape(random), *_some(random, ["--json", "--quiet", *ODD])))
    if chosen < 0.945:
        return _match(random)
    if chosen < 0.95:
        return Attempt(("compare", _shape(random), _shape(random), *_options(random, "reshape", 1)))
    return random.choice([_film, _sheet, _lessons, _model, _prompt, _prompt, _other, _other])(random)


def _prompt(random):
    """Return some lines of the prompt."""
    return Attempt(("repl",), "\n".join(_line(random) for _ in range(random.randint(1, 6))))


def _other(random):
    """Return a command with words that it seldom takes."""
    return Attempt((random.choice(OTHERS), *_some(random, [*every_rule(), "--json", "-h", *ODD])))


CHECKING = ["--json", "--strict", "-q", "-x", "--github", "--jobs", "1"]


def _some(random, of):
    return random.sample(of, random.randint(0, 2))


def _dim(random):
    return random.choice(ODD if random.random() < 0.03 else DIMS)


def _shape(random):
    text = random.choice([",", ",", ",", ", ", "x"]).join(_dim(random) for _ in range(random.randint(0, 5)))
    return random.choice(["{}", "{}", "{}", "{}", "[{}]", "({})", "({},)", "torch.Size([{}])"]).format(text)


def _value(random, parameter):
    """Return a text for an option or an argument: mostly one that it could take."""
    if random.random() < 0.04:
        return random.choice(ODD)
    if parameter.completions is not None:
        return random.choice([*parameter.completions()])
    if parameter.name == "pattern":
        return random.choice(PATTERNS)
    if parameter.name == "where":
        return f"N={_dim(random)},C={_dim(random)}"
    if isinstance(parameter, Argument) or parameter.metavar in SHAPES:
        return _permutation(random) if random.random() < 0.3 else _shape(random)
    return random.choice(["y.npy", "0", "1", "-1", "2", "13", _dim(random)])


def _permutation(random):
    axes = list(range(random.randint(0, 4)))
    random.shuffle(axes)
    return ",".join(map(str, axes))


def _values(random, op, of):
    """Return the words of an op's arguments behind its input: of the operands there may be any number."""
    arguments = [each for each in parameters_of(OPS[op])[1:] if isinstance(each, Argument)]
    words = [_value(random, each) for each in arguments if each.required or random.random() < 0.7]
    if arguments and arguments[-1].name == "operands":
        words += [random.choice([of, of, "_", _shape(random)]) for _ in range(random.randint(0, 3))]
    return words


def _options(random, op, most=3):
    options = [each for each in parameters_of(OPS[op]) if not isinstance(each, Argument)]
    words = []
    for option in random.sample(options, random.randint(0, most)):
        off = option.takes is Takes.SWITCH and random.random() < 0.5
        words.append(f"--no-{option.name.replace('_', '-')}" if off else option.spelling)
        words += [_value(random, option)] if option.takes is Takes.TEXT else []
    return words


def _question(random):
    """Return an op's command line, sometimes with a file."""
    op, shape = random.choice([*OPS]), _shape(random)
    values = _values(random, op, shape)
    if random.random() < 0.06:
        name = random.choice(["x.npy", "x.npz:w", "x.npz", "x.npz:nothing"])
        return Attempt((op, name, *values, *_options(random, op)), "", {name.partition(":")[0]: _file(random, name)})
    if random.random() < 0.04:
        return Attempt((op, "-", *values, *_options(random, op)), "\n".join(_shape(random) for _ in range(3)))
    return Attempt((op, shape, *values, *_options(random, op)))


def _match(random):
    """Return a pattern held against a file or two, of which some are missing."""
    dims = random.choices(["N", "?", "...", "2*H", "2", "3", "4", _dim(random)], k=random.randint(1, 4))
    pattern = random.choice(["{}", "{}", "float32[{}]"]).format(",".join(dims))
    files = ["x.npy", "y.npy", "x.npz", "x.npz:w", "x.safetensors", "x.safetensors:w", random.choice(ODD)]
    names = random.sample(files, random.randint(1, 2))
    held = [name for name in names if name[:2] in ("x.", "y.") and random.random() < 0.9]
    data = {name.partition(":")[0]: _file(random, name) for name in held}
    return Attempt(("match", pattern, *names, *_some(random, ["--json", "-q", "--junit=r.xml"])), "", data)


def _film(random):
    """Return a film, or a picture that stands still."""
    file = random.choice(["f.svg", "f.html", "f", "f.gi", random.choice(ODD)])
    options = [*_some(random, ["--json", "-q", "--force", "--theme=dark", "--theme=light", *ODD])]
    if random.random() < 0.2:
        return Attempt(("film", "chain", f"{_shape(random)} | {_stage(random)}", "-o", file, *options))
    if random.random() < 0.4:
        steps = _some(random, ["--step=1", "--step=2", "--step=9", "--width=40", "--width=400", "--width=7"])
        return Attempt((*_question(random).words, "--picture", file, *steps, *options))
    question = _question(random)
    return replace(question, words=("film", *question.words, "-o", file, *options))


def _sheet(random):
    """Return a worksheet."""
    topic = random.choice([*TOPICS, "all", random.choice(ODD)])
    options = ["--with-answers", "--force", "--seed=a", "--format=html", "--out=s.txt", *ODD]
    return Attempt(("drill", topic, f"--print={random.choice([1, 2, 7, _dim(random)])}", *_some(random, options)))


def _lessons(random):
    """Return a check of lessons that are nearly right."""
    texts = {name: random.choice(["a", "b-2", _shape(random)]) for name in ("id", "title", "text", "point")}
    texts |= {"question": f"{_stage(random).partition(' ')[0]} {_shape(random)} {_shape(random)}"}
    texts |= {random.choice(["stage", "follow", "notes", "wrong", "more"]): _shape(random)}
    lines = ["[[lesson]]", *(f"{name} = {json.dumps(text)}" for name, text in texts.items() if random.random() < 0.95)]
    lines += ["[[lesson.wrong]]", f"typed = '{_shape(random)}'", "said = 'no'"] if random.random() < 0.5 else []
    written = "\n".join(lines)
    text = _edited(random, written) if random.random() < 0.5 else written
    return Attempt(
        ("drill", "--check-lessons=l.toml"), "", {"l.toml": text.encode("utf-8", "replace").decode("latin-1")}
    )


def _model(random):
    """Return a model that is read or mended, its bytes sometimes broken."""
    data = bytearray(_swallowing())
    for _ in range(random.choice([0, 0, 1, 3])):
        data[random.randrange(len(data))] = random.randrange(256)
    cut = data[: random.choice([len(data), len(data), random.randrange(len(data))])].decode("latin-1")
    options = ["--json", "--lint", "--github", "--strict", "--batch=N,1,2,8", "--set=x=N,4", "--where=N=3", *ODD]
    fixing = ["--fix", "--no-prove", "-o", random.choice(["y.onnx", "m.onnx", random.choice(ODD)])]
    chosen = fixing if random.random() < 0.5 else []
    return Attempt(("model", "m.onnx", *chosen, *_some(random, options)), "", {"m.onnx": cut})


@cache
def _swallowing():
    """Return the bytes of a model whose one target puts the batch into another axis; junk where there is no onnx."""
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        return b"onnx"
    named = ["N", 4, 4]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", named), ("y", None))]
    target = numpy_helper.from_array(np.array([1, -1]), "t")
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "t"], ["y"])], "g", ends[:1], ends[1:], [target])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


def _file(random, name):
    """Return the bytes of an array file, sometimes broken, as Latin-1."""
    file = io.BytesIO()
    array = np.arange(24, dtype=random.choice(["f4", "i8", "u1", "f2"])).reshape(
        random.choice([(2, 3, 4), (24,), (4, 6)])
    )
    if ".npz" in name:
        np.savez(file, w=array)
    elif ".safetensors" in name:
        stated = {"dtype": "F32", "shape": array.shape, "data_offsets": [0, 4 * array.size]}
        header = json.dumps({"w": stated}).encode()
        file.write(len(header).to_bytes(8, "little") + header + array.tobytes())
    else:
        np.save(file, array)
    data = bytearray(file.getvalue())
    if random.random() < 0.3:
        header = random.choice(HEADERS).encode()
        data = bytearray(
            b"\x93NUMPY" + bytes([random.choice([1, 2, 3, 9]), 0]) + len(header).to_bytes(2, "little") + header
        )
    for _ in range(random.choice([0, 0, 1, 3])):
        data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data[: random.choice([len(data), len(data), random.randrange(len(data))])]).decode("latin-1")


def _stage(random):
    """Return a stage of a chain."""
    op = random.choice([*OPS, *MADE])
    if op in MADE:
        return " ".join([op, *(_dim(random) for _ in range(random.randint(0, 3)))])
    values = [f"'{word}'" if " " in word else word for word in _values(random, op, "_")]
    return " ".join([op, *values, *_options(random, op, 1)])


def _line(random):
    """Return a line of the prompt or of a case file."""
    if random.random() < 0.15:
        return random.choice([_shape(random), "undo", "explain", "dialect torch", "@default opset=13", *ODD])
    op, _, rest = _stage(random).partition(" ")
    return f"{op} {_shape(random)} {rest}"


def _cases(random):
    """Return the text of a case file: plain lines, lines of JSON, and others."""
    return "\n".join(_case(random) for _ in range(random.randint(1, 12)))


def _case(random):
    if random.random() < 0.3:
        keys = {"op": random.choice([*OPS]), "input": _json(random), "target": _json(random), "perm": _json(random)}
        keys |= {"expect": _json(random), "opset": 13, "allowzero": random.choice([0, 1, 2, None]), "id": _json(random)}
        return json.dumps({name: keys[name] for name in keys if random.random() < 0.7})
    expected = random.choice(
        [_shape(random), "error", "error infer", "2,6 when N == 3", "", "error " + random.choice([*every_rule()])]
    )
    return f"{_line(random)} => {expected}" if random.random() < 0.7 else _line(random)


def _json(random):
    return random.choice(
        [[2, 3], [0, -1], ["N", 4], "2,3", [], [[1]], {"error": "infer"}, {}, 1e400, True, None, 10**30, "\x1b"]
    )


def _changed(random, attempt):
    """Return an attempt with a change or two of its words or of its standard input."""
    words, stdin = list(attempt.words), attempt.stdin
    for _ in range(random.randint(1, 2)):
        at = random.randrange(1, len(words)) if len(words) > 1 else 0
        chosen = random.random()
        if stdin and chosen < 0.6:
            stdin = _edited(random, stdin)
        elif at and chosen < 0.5:
            words[at] = _edited(random, words[at])
        elif at and chosen < 0.6:
            words[at : at + 1] = []
        elif at and chosen < 0.7:
            words.insert(at, random.choice([random.choice(words[1:]), _dim(random), random.choice(ODD)]))
        elif words[0] in OPS:
            words += _options(random, words[0], 2)
    return replace(attempt, words=tuple(words), stdin=stdin)


def _edited(random, text):
    """Return a text with a piece put in, left out or written over."""
    at = random.randint(0, len(text))
    piece = random.choice([random.choice(ODD), _dim(random), _dim(random), ","])
    return text[:at] + random.choice([piece, piece, ""]) + text[at + random.randint(0, 2) :]
