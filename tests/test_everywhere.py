"""What holds for every key, public function and offered command: none of them is left out anywhere."""

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
from shapecalc.reading.commands import read_op_words
from tests.sampling import each_row
from tests.sessions import ROOT

NAMES = {"pagedown": "PgDn", "pageup": "PgUp", "question_mark": r"\&?", "slash": "/", "plus": "+", "minus": "-"}
NAMES |= {"escape": "Esc", "shift+tab": "Shift-Tab"}
EXAMPLES = [example for op in OPS.values() for example in op.examples]


def bound_keys():
    """Return every key that a class of the app binds."""
    modules = [importlib.import_module(f"{tui.__name__}.{each.name}") for each in pkgutil.iter_modules(tui.__path__)]
    made = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    listed = [
        vars(each)["BINDINGS"] for each in made if each.__module__.startswith(tui.__name__) and "BINDINGS" in vars(each)
    ]
    return sorted({binding.key for bindings in listed for binding in Binding.make_bindings(bindings)})


def test_bound_keys_are_in_the_manual():
    lines = re.findall(r"^\.(?:It )?Li (.*)", (ROOT / "man" / "shapecalc-tui.1").read_text("utf-8"), re.M)
    named = {word for line in lines for word in line.lower().split()}

    def name(key):
        held = f"^{key[5:].title()}" if key.startswith("ctrl+") else key
        return NAMES.get(key) or (key.upper() if re.fullmatch(r"f\d+", key) else held)

    assert [key for key in bound_keys() if name(key).lower() not in named] == []


@each_row("example", EXAMPLES)
def test_public_functions_answer_as_the_command_line(example, shapecalc):
    op, *words = shlex.split(example)
    typed = read_op_words(OPS[op], words, OUTPUT_OPTIONS.values())
    given = {name: value for name, value in typed.items() if name not in OUTPUT_OPTIONS}
    if op == "matmul":
        given["other"] = given.pop("operands")
    printed = json.loads(shapecalc(op, *words, "--json").out)
    try:
        answer = getattr(sc, op)(**given).as_json()
    except sc.ShapeError as error:
        answer = error.trace.as_json()
    assert json.loads(json.dumps(answer)) == printed
