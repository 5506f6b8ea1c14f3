"""F1: what has the focus, every key, and every sign of the pictures."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from shapecalc.core.ops import OPS, params_of
from shapecalc.core.ops.op import Holds
from shapecalc.tui.key_words import KeyWords
from shapecalc.tui.keys import KEYS
from shapecalc.tui.legend import LEGEND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.ops.op import Param

FIELDS = {
    "input": "The shape of the input: 2,3,4, [2, 3, 4], 2x3x4, N,C,H,W, or the name of a file such as x.npy. "
    "A name is a size of at least 1, a ? is a dim nobody knows.",
    "stages": "What happens to it, one op after the other: reshape 0,0,12,64 | transpose 0,2,1,3. "
    "Each takes the options of its own command.",
}
"""What is said of the fields that are no parameters of an op."""
PICTURE = (
    "The picture of the step at hand. F3 shows the elements in its place; the arrow keys then follow one of them "
    "through every stage. Where a mistake gives the same sizes, as a reshape for a transpose does, m draws it beside."
)
FLOW = (
    "The flow: what becomes of each dim. Type a size into the hole that is lit; enter helps, three times. The arrow "
    "keys light another dim, and what it comes from."
)
MORE = (
    "tab goes on to the next field. Everything can be clicked: a dim shows what it comes from, a step opens, a key "
    "is pressed. ^P finds all of this by name, and also what has no key: another chain to compare with, the "
    "themes, the fields, the settings, and what was asked before."
)


class Help(ModalScreen[None]):
    """A text to read and close."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("escape,f1,enter", "dismiss", "close")]

    def __init__(self, focused: str, op: str) -> None:
        """Explain the widget of the id `focused`."""
        super().__init__()
        self.focused_id = focused
        self.op = op

    def compose(self) -> ComposeResult:
        """Say what has the focus, then list the keys and the signs."""
        keys = Table.grid(padding=(0, 2))
        for key in KEYS:
            keys.add_row(key.shown, key.help)
        signs = Table.grid(padding=(0, 2))
        for sign, said in LEGEND:
            signs.add_row(Text(sign, "bold", no_wrap=True), said)
        with Vertical(classes="dialog"):
            with VerticalScroll():
                yield Static(self.focus_help(), markup=False, classes="words")
                yield Static(keys)
                yield Static(MORE, classes="words")
                yield Static(signs, id="signs")
            yield KeyWords("PgDn goes on to the signs of the pictures, escape closes")

    def focus_help(self) -> str:
        """Return what is said of the widget that has the focus.

        >>> Help("field-to", "shuffle").focus_help()
        'to: the reshape: the requested shape; the dialect decides what 0 and -1 mean'
        """
        if self.focused_id == "picture":
            return PICTURE
        if self.focused_id == "flow":
            return FLOW
        name = self.focused_id.removeprefix("field-")
        params = {param.name: _param_help(param) for param in params_of(OPS[self.op])} if self.op in OPS else {}
        return f"{name.replace('_', '-')}: {(FIELDS | params).get(name, 'change it, and everything follows')}"


def _param_help(param: Param) -> str:
    """Return what is said of a parameter, with the words that can be typed if they are few."""
    words = ("0", "1") if param.holds is Holds.FLAG else param.words
    return f"{param.help}: {' or '.join(words)}" if words else param.help
