"""What is told, and what code is shown, while the answer is hidden."""

from __future__ import annotations

import re

from shapecalc.core.commands import command_line
from shapecalc.view.strokes import UNICODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Trace

WOULD_SHOW = "this would show the answer, which is hidden: ^G reveals it"
OUTPUT = re.compile(r'(^# x: .* -> y: |make_tensor_value_info\("y", .*, \[)[^\]\n]*', re.MULTILINE)
"""Where code says which shape `y` has."""


def masked(text: str, answer: Trace | Chain) -> str:
    r"""Return code with a hole in place of the shape of `y`, and of each size of it that the request does not name.

    >>> import shapecalc as sc
    >>> masked("# x: 2,3,4 -> y: 2,12\ny = x.reshape(2, 12)", sc.reshape((2, 3, 4), (0, -1)))
    '# x: 2,3,4 -> y: _\ny = x.reshape(2, _)'
    """
    asked = {*re.findall(r"\w+", command_line(answer))}
    sizes = [re.escape(str(dim)) for dim in answer.output or () if str(dim) not in asked]
    text = OUTPUT.sub(rf"\g<1>{UNICODE.hole}", text)
    return re.sub(rf"(?<!\w)({'|'.join(sizes)})(?!\w)", UNICODE.hole, text) if sizes else text
