"""Parse models from text, one statement per line or separated by semicolons, and read tables of such texts.

    x = (N,3,4)                       an input; `int64(N,6)` has another type, `(...)` no shape, `(?,3)` a dim of none
    t = [0,-1]                        a constant: numbers, or `floats(2,3)`, `ones(3)`, `zeros(2,2)`
    y z = Split x [2,2] axis=1        a node, named after its first output; `_` is an omitted input
    y = own.Magic x                   one of another domain
    y = If c then_branch={a = Relu x} else_branch={b = Neg x}
    function Flat a = {b = Flatten a axis=@axis}
    opset 11                          otherwise 18
    => y z                            the outputs; otherwise those of the last node

A node may contain inputs and constants: `y = Reshape (N,6) [0,2,3]`.
"""

from __future__ import annotations

import re
from ast import literal_eval
from pathlib import Path

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from tests import tables

TOKEN = re.compile(r"[{};\n]|(?:\([^()]*\)|[^\s;{}()])+")
INPUT = re.compile(r"(int64|int32|bool|)\((.*)\)")
CONSTANT = re.compile(r"[-\d[]|true|false|(floats|ones|zeros)\(")
DOMAINS = {"own": 1, "com.microsoft": 1, "ai.onnx.ml": 3}


def floats(*shape):
    """Return normally distributed numbers with a fixed seed."""
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


MADE = {"floats": floats, "ones": lambda *shape: np.ones(shape, np.float32), "true": True, "false": False}
MADE["zeros"] = lambda *shape: np.zeros(shape, np.float32)


def constant(word):
    """Parse a constant array of int64, float32 or bool."""
    value = eval(word, MADE.copy())
    array = np.array(value, np.int64 if isinstance(value, list) and not value else None)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


class Graph:
    """A graph under construction."""

    def __init__(self):
        self.inputs, self.constants, self.nodes, self.functions, self.outputs = [], [], [], [], None
        self.opset = 18

    def read(self, words):
        """Add a statement."""
        if words[0] == "=>":
            self.outputs = words[1:]
        elif words[0] == "opset":
            self.opset = int(words[1])
        elif words[0] == "function":
            self._function(words[1], words[2 : words.index("=")], words[-1])
        elif len(words) == 3 and (INPUT.fullmatch(words[2]) or CONSTANT.match(words[2])):
            self._given(words[2], words[0])
        else:
            at = words.index("=")
            self._node(["" if word == "_" else word for word in words[:at]], words[at + 1], words[at + 2 :])

    def _given(self, word, name):
        """Add an input or a constant, and return its name."""
        if found := INPUT.fullmatch(word):
            dims = [int(dim) if dim.isdigit() else None if dim == "?" else dim for dim in found[2].split(",") if dim]
            kind = getattr(TensorProto, found[1].upper() or "FLOAT")
            self.inputs.append(helper.make_tensor_value_info(name, kind, None if dims == ["..."] else dims))
        else:
            self.constants.append(numpy_helper.from_array(constant(word), name))
        return name

    def _node(self, outputs, op, words):
        (domain, _, op), name = op.rpartition("."), next(filter(None, outputs), "")
        inputs, attributes, key = [], [], ""
        for word in words:
            if isinstance(word, Graph):
                attributes.append(helper.make_attribute(key, word.proto(key)))
            elif found := re.fullmatch(r"(\w+)=(.*)", word):
                key = found[1]
                attributes += [_attribute(key, found[2])] if found[2] else []
            elif INPUT.fullmatch(word):
                inputs.append(self._given(word, f"x{len(self.inputs)}"))
            elif CONSTANT.match(word):
                inputs.append(self._given(word, f"{name}.{len(inputs)}"))
            else:
                inputs.append("" if word == "_" else word)
        made = helper.make_node(op, inputs, outputs, name or None, domain=domain)
        made.attribute.extend(attributes)
        self.nodes.append(made)

    def _function(self, name, inputs, graph):
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("own", 1)]
        known = sorted({each.ref_attr_name for node in graph.nodes for each in node.attribute} - {""})
        outputs = graph.nodes[-1].output
        self.functions.append(helper.make_function("own", name, inputs, outputs, graph.nodes, opsets, known))

    def proto(self, name):
        """Return the graph."""
        outputs = self.outputs or [each for node in self.nodes[-1:] for each in node.output if each]
        made = [helper.make_empty_tensor_value_info(each) for each in outputs]
        return helper.make_graph(self.nodes, name, self.inputs, made, self.constants)

    def model(self):
        """Return the model of the graph."""
        opsets = [helper.make_opsetid(*each) for each in {"": self.opset, **DOMAINS}.items()]
        return helper.make_model(self.proto("g"), opset_imports=opsets, ir_version=10, functions=self.functions)


def _attribute(name, text):
    if text.startswith("@"):
        return AttributeProto(name=name, ref_attr_name=text[1:], type=AttributeProto.INT)
    if name == "value":
        return helper.make_attribute(name, numpy_helper.from_array(constant(text)))
    try:
        value = literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    return helper.make_attribute(name, value, attr_type=AttributeProto.INTS if value == [] else None)


def _graph(tokens):
    """Parse a graph up to its closing brace."""
    graph, words = Graph(), []
    for token in tokens:
        if token == "{":
            words.append(_graph(tokens))
        elif token in "};\n":
            if words:
                graph.read(words)
            words = []
            if token == "}":
                break
        else:
            words.append(token)
    return graph


def model(text, **changed):
    """Parse a model without output shapes; `changed` replaces constants by name."""
    graph = _graph(iter(TOKEN.findall(f"{text}\n")))
    for each in graph.constants:
        if each.name in changed:
            each.CopyFrom(numpy_helper.from_array(np.array(changed[each.name]), each.name))
    return graph.model()


def rows(name):
    """Return the rows of a table of this folder."""
    return tables.rows(Path(__file__).with_name(f"{name}.txt"))


def sections(name):
    """Return the text and the `:` lines of each section of a table; a section begins with `# title`."""
    found = re.split(r"^# (.*)\n", (Path(__file__).parent / f"{name}.txt").read_text("utf-8"), flags=re.M)[1:]
    return [
        pytest.param(re.sub(r"^:.*\n", "", text, flags=re.M), re.findall(r"^: *(.*)$", text, re.M), id=title)
        for title, text in zip(found[::2], found[1::2], strict=True)
    ]
