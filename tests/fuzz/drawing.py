"""Draw command lines by a seed: nearly valid requests, and changes of known ones."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from shapecalc.cli.options import COMMAND_MODULES, Argument, op_command_parameters
from shapecalc.core.ops import OPS, all_rules
from shapecalc.reading.commands import COMPOSITE_OPS
from shapecalc.reading.options import OptionKind
from tests.fuzz.running import Attempt
from tests.tables import rows


@cache
def pieces(section):
    """Return the words of a section of `pieces.txt`."""
    return [word for (line,) in rows(Path(__file__).with_name("pieces.txt"), section) for word in line.split()]


DIMS = pieces("dims")
ODD = [
    *("", " ", "  ", "\x1b[2J", "\udcff", "\N{SUPERSCRIPT TWO}", "\u202e", "\r", "\t", "\x00", "\N{BOM}"),
    *("9" * 30, "9" * 1200, "-9223372036854775808", "9223372036854775807", "#", "=>", "[", "]", *pieces("odd")),
]
"""Pieces that are seldom valid."""
PATTERNS = ["ij,jk->ik", "ij->ji", "...i,i->...", "ii", "ij,ij", "->", "i,j,k->kji", "a b -> (a b)", "a b -> a b 2"]
HEADERS = ["{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }", "{'shape': (True,)}", "[" * 50, "{}", ""]
JSON = [[2, 3], [0, -1], ["N", 4], "2,3", [], [[1]], {"error": "infer"}, {}, 1e400, True, None, 10**30, "\x1b"]
OTHERS = [name for name in COMMAND_MODULES if name not in pieces("often")]
"""The commands that are drawn without fitting arguments."""


class Draw(Random):
    """A random generator of command lines and their parts."""

    def attempt(self, known):
        """Return a new attempt, or a changed known one, without null characters, which no system passes in a word."""
        drawn = self.changed(self.choice(known)) if known and self.random() < 0.5 else self.new()
        return replace(drawn, words=tuple(word.replace("\0", "") for word in drawn.words))

    def new(self):
        """Return a new attempt, mostly the command line of an op."""
        weights = {self.question: 86, self.checked: 4, self.of_chains: 3, self.match: 0.5, self.lessons: 0.6}
        weights |= {self.model: 0.6, self.prompt: 1.3, self.other: 1.3}
        return self.choices([*weights], [*weights.values()])[0]()

    def some(self, of):
        return self.sample(of, self.randint(0, 2))

    def dim(self):
        return self.choice(ODD if self.random() < 0.03 else DIMS)

    def shape(self):
        text = self.choice([",", ",", ",", ", ", "x"]).join(self.dim() for _ in range(self.randint(0, 5)))
        return self.choice(["{}", "{}", "{}", "{}", "[{}]", "({})", "({},)", "torch.Size([{}])"]).format(text)

    def value(self, parameter):
        """Return a text for an option or an argument, mostly a possible one."""
        if self.random() < 0.04:
            return self.choice(ODD)
        if parameter.completions is not None:
            return self.choice([*parameter.completions()])
        if parameter.name == "pattern":
            return self.choice(PATTERNS)
        if parameter.name == "where":
            return f"N={self.dim()},C={self.dim()}"
        if isinstance(parameter, Argument) or parameter.metavar in ("SHAPE", "AXES", "INDEX", "SIZES"):
            axes = range(self.randint(0, 4))
            return ",".join(map(str, self.sample(axes, len(axes)))) if self.random() < 0.3 else self.shape()
        return self.choice(["y.npy", "0", "1", "-1", "2", "13", self.dim()])

    def values(self, op, of):
        """Return the words of an op's arguments after its input; the number of operands is random."""
        arguments = [argument for argument in op_command_parameters(OPS[op])[1:] if isinstance(argument, Argument)]
        words = [self.value(argument) for argument in arguments if argument.required or self.random() < 0.7]
        if arguments and arguments[-1].name == "operands":
            words += [self.choice([of, of, "_", self.shape()]) for _ in range(self.randint(0, 3))]
        return words

    def options(self, op, most=3):
        options = [option for option in op_command_parameters(OPS[op]) if not isinstance(option, Argument)]
        words = []
        for option in self.sample(options, self.randint(0, most)):
            off = option.kind is OptionKind.SWITCH and self.random() < 0.5
            words.append(f"--no-{option.name.replace('_', '-')}" if off else option.spelling)
            words += [self.value(option)] if option.kind is OptionKind.TEXT else []
        return words

    def question(self):
        """Return an op's command line, sometimes with a file or with shapes on standard input."""
        op, shape, chosen = self.choice([*OPS]), self.shape(), self.random()
        rest = (*self.values(op, shape), *self.options(op))
        if chosen < 0.06:
            name = self.choice(["x.npy", "x.npz:w", "x.npz", "x.npz:nothing"])
            return Attempt((op, name, *rest), "", {name.partition(":")[0]: self.file(name)})
        if chosen < 0.1:
            return Attempt((op, "-", *rest), "\n".join(self.shape() for _ in range(3)))
        return Attempt((op, shape, *rest))

    def stage(self):
        """Return a stage of a chain."""
        op = self.choice([*OPS, *COMPOSITE_OPS])
        if op in COMPOSITE_OPS:
            return " ".join([op, *(self.dim() for _ in range(self.randint(0, 3)))])
        values = [f"'{word}'" if " " in word else word for word in self.values(op, "_")]
        return " ".join([op, *values, *self.options(op, 1)])

    def line(self):
        """Return a line of the prompt or of a case file."""
        if self.random() < 0.15:
            return self.choice([self.shape(), "undo", "explain", "dialect torch", "@default opset=13", *ODD])
        op, _, rest = self.stage().partition(" ")
        return f"{op} {self.shape()} {rest}"

    def case(self):
        """Return a line of a case file: plain text, JSON, or anything else."""
        if self.random() < 0.3:
            keys = {name: self.choice(JSON) for name in ("input", "target", "perm", "expect", "id")}
            keys |= {"op": self.choice([*OPS]), "opset": 13, "allowzero": self.choice([0, 1, 2, None])}
            return json.dumps({name: keys[name] for name in keys if self.random() < 0.7})
        refusal = "error " + self.choice([*all_rules()])
        expected = self.choice([self.shape(), "error", "error infer", "2,6 when N == 3", "", refusal])
        return f"{self.line()} => {expected}" if self.random() < 0.7 else self.line()

    def checked(self):
        cases = "\n".join(self.case() for _ in range(self.randint(1, 12)))
        return Attempt(("check", "-", *self.some(["--json", "--strict", "-q", "-x", "--github", "--jobs", "1"])), cases)

    def prompt(self):
        return Attempt(("repl",), "\n".join(self.line() for _ in range(self.randint(1, 6))))

    def of_chains(self):
        chains = [
            " | ".join([shape, *(self.stage() for _ in range(self.randint(0, 3)))]) for shape in (self.shape(), "")
        ]
        if self.random() < 0.5:
            return Attempt(("equiv", *chains, *self.some(["--json", "--strict", "-q"])))
        return Attempt(("chain", chains[0], *self.options("reshape", 1)))

    def other(self):
        """Return a command with words that are seldom valid."""
        command = self.choice(OTHERS)
        return Attempt((command, *self.some([*all_rules(), "--json", "-h", *ODD])))

    def match(self):
        """Return a match of a pattern with one or two files, some of them missing."""
        dims = self.choices(["N", "?", "...", "2*H", "2", "3", "4", self.dim()], k=self.randint(1, 4))
        pattern = self.choice(["{}", "{}", "float32[{}]"]).format(",".join(dims))
        files = ["x.npy", "y.npy", "x.npz", "x.npz:w", "x.safetensors", "x.safetensors:w", self.choice(ODD)]
        names = self.sample(files, self.randint(1, 2))
        existing = [name for name in names if name[:2] in ("x.", "y.") and self.random() < 0.9]
        data = {name.partition(":")[0]: self.file(name) for name in existing}
        return Attempt(("match", pattern, *names, *self.some(["--json", "-q", "--junit=r.xml"])), "", data)

    def lessons(self):
        """Return a check of nearly valid lessons."""
        texts = {name: self.choice(["a", "b-2", self.shape()]) for name in ("id", "title", "text", "point")}
        texts |= {"question": f"{self.stage().partition(' ')[0]} {self.shape()} {self.shape()}"}
        texts |= {self.choice(["stage", "follow", "notes", "wrong", "more"]): self.shape()}
        lines = [f"{name} = {json.dumps(text)}" for name, text in texts.items() if self.random() < 0.95]
        if self.random() < 0.5:
            lines += ["[[lesson.wrong]]", f"typed = '{self.shape()}'", "said = 'no'"]
        written = "\n".join(["[[lesson]]", *lines])
        text = self.edited(written) if self.random() < 0.5 else written
        file = text.encode("utf-8", "replace").decode("latin-1")
        return Attempt(("drill", "--check-lessons=l.toml"), "", {"l.toml": file})

    def model(self):
        """Return a report or fix of a model, its bytes sometimes damaged."""
        fixing = ["--fix", "--no-prove", "-o", self.choice(["y.onnx", "m.onnx", self.choice(ODD)])]
        words = (*(fixing if self.random() < 0.5 else []), *self.some([*pieces("model"), *ODD]))
        return Attempt(("model", "m.onnx", *words), "", {"m.onnx": self.broken(bytearray(swallowing_model()))})

    def broken(self, data):
        """Return bytes as Latin-1, perhaps changed or cut."""
        for _ in range(self.choice([0, 0, 1, 3])):
            data[self.randrange(len(data))] = self.randrange(256)
        return data[: self.choice([len(data), len(data), self.randrange(len(data))])].decode("latin-1")

    def file(self, name):
        """Return the bytes of an array file as Latin-1, sometimes damaged."""
        file, shape = io.BytesIO(), self.choice([(2, 3, 4), (24,), (4, 6)])
        array = np.arange(24, dtype=self.choice(["f4", "i8", "u1", "f2"])).reshape(shape)
        if self.random() < 0.3:
            header = self.choice(HEADERS).encode()
            version = bytes([self.choice([1, 2, 3, 9]), 0])
            file.write(b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header)
        elif ".npz" in name:
            np.savez(file, w=array)
        elif ".safetensors" in name:
            entry = {"dtype": "F32", "shape": array.shape, "data_offsets": [0, 4 * array.size]}
            header = json.dumps({"w": entry}).encode()
            file.write(len(header).to_bytes(8, "little") + header + array.tobytes())
        else:
            np.save(file, array)
        return self.broken(bytearray(file.getvalue()))

    def changed(self, attempt):
        """Return an attempt with one or two changes of its words or standard input."""
        words, stdin = list(attempt.words), attempt.stdin
        for _ in range(self.randint(1, 2)):
            at = self.randrange(1, len(words)) if len(words) > 1 else 0
            chosen = self.random()
            if stdin and chosen < 0.6:
                stdin = self.edited(stdin)
            elif at and chosen < 0.5:
                words[at] = self.edited(words[at])
            elif at and chosen < 0.6:
                words[at : at + 1] = []
            elif at and chosen < 0.7:
                words.insert(at, self.choice([self.choice(words[1:]), self.dim(), self.choice(ODD)]))
            elif words[0] in OPS:
                words += self.options(words[0], 2)
        return replace(attempt, words=tuple(words), stdin=stdin)

    def edited(self, text):
        """Return a text with a piece inserted, deleted or replaced."""
        at, piece = self.randint(0, len(text)), self.choice([self.choice(ODD), self.dim(), self.dim(), ","])
        return text[:at] + self.choice([piece, piece, ""]) + text[at + self.randint(0, 2) :]


@cache
def swallowing_model():
    """Return the bytes of a model whose Reshape merges the batch into another axis; junk without onnx."""
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        return b"onnx"
    shapes = {"x": ["N", 4, 4], "y": None}
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in shapes.items()]
    target = numpy_helper.from_array(np.array([1, -1]), "t")
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "t"], ["y"])], "g", ends[:1], ends[1:], [target])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return proto.SerializeToString()
