"""The manual documents all key bindings, and public functions give the same answers as the command line."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import shlex

from textual.binding import Binding

import shapecalc as sc
from shapecalc import tui
from shapecalc.cli.options import OUTPUT_OPTIONS
from shapecalc.core.ops import OPS
from shapecalc.reading.commands import parse_op_words
from tests.sampling import each_row
from tests.sessions import ROOT

NAMES = {"pagedown": "PgDn", "pageup": "PgUp", "question_mark": r"\&?", "slash": "/", "plus": "+", "minus": "-"}
NAMES |= {"escape": "Esc", "shift+tab": "Shift-Tab"}
EXAMPLES = [example for op in OPS.values() for example in op.examples]


def bound_keys():
    """Return the keys that the classes of the app bind."""
    modules = [
        importlib.import_module(f"{tui.__name__}.{module.name}") for module in pkgutil.iter_modules(tui.__path__)
    ]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    own = [vars(cls) for cls in classes if cls.__module__.startswith(tui.__name__)]
    all_bindings = [members["BINDINGS"] for members in own if "BINDINGS" in members]
    return sorted({binding.key for bindings in all_bindings for binding in Binding.make_bindings(bindings)})


def test_bound_keys_are_in_the_manual():
    lines = re.findall(r"^\.(?:It )?Li (.*)", (ROOT / "man" / "shapecalc-tui.1").read_text("utf-8"), re.M)
    documented = {word for line in lines for word in line.lower().split()}

    def name(key):
        text = f"^{key[5:].title()}" if key.startswith("ctrl+") else key
        return NAMES.get(key) or (key.upper() if re.fullmatch(r"f\d+", key) else text)

    assert [key for key in bound_keys() if name(key).lower() not in documented] == []


@each_row("example", EXAMPLES)
def test_public_functions_answer_as_the_command_line(example, shapecalc):
    op, *words = shlex.split(example)
    options = parse_op_words(OPS[op], words, OUTPUT_OPTIONS.values())
    arguments = {name: value for name, value in options.items() if name not in OUTPUT_OPTIONS}
    if op == "matmul":
        arguments["other"] = arguments.pop("operands")
    printed = json.loads(shapecalc(op, *words, "--json").out)
    try:
        answer = getattr(sc, op)(**arguments).as_json()
    except sc.ShapeError as error:
        answer = error.trace.as_json()
    assert json.loads(json.dumps(answer)) == printed
