"""The limits on the size and the work of one request.

The limits count work instead of time, so they are the same on all machines. If a limit is exceeded, the error message
contains the name of the limit. The page `shapecalc help limits` lists all limits.
"""

from __future__ import annotations

from shapecalc.core.problem import usage_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, Unpack

    from shapecalc.core.problem import Location, ShapeError

REQUEST_REFUSED = "refused"
"""The default consequence of an exceeded limit."""


class Limit(int):
    """An upper bound on one quantity of a request.

    >>> Limit("dims", 8, "the dims of a shape").error("9 dims").problem.message
    "9 dims, and the limit 'dims' is 8"
    """

    name: str
    quantity: str
    """The limited quantity, in the wording of `shapecalc help limits`."""
    consequence: str
    """The consequence of exceeding the limit, in the wording of `shapecalc help limits`."""

    def __new__(cls, name: str, maximum: int, quantity: str, consequence: str = REQUEST_REFUSED) -> Self:
        """Create a limit.

        `maximum` is the largest allowed value of the quantity.
        """
        limit = super().__new__(cls, maximum)
        limit.name, limit.quantity, limit.consequence = name, quantity, consequence
        return limit

    def message(self, amount: str) -> str:
        """Return the error message for an amount above the limit."""
        return f"{amount}, and the limit '{self.name}' is {int(self)}"

    def error(self, amount: str, hint: str = "shapecalc help limits", **location: Unpack[Location]) -> ShapeError:
        """Return the usage error for an amount above the limit."""
        return usage_error(self.message(amount), hint, **location)


MAX_SHAPE_DIMS = Limit("dims", 1 << 16, "dims in a shape, or slices in an argument")
MAX_DIGITS = Limit("digits", 1000, "digits in a number; an int64 has at most 19")
MAX_SIZE_DIGITS = Limit("size-digits", 30, "digits in a size that is assigned to a name")
MAX_DIM_TEXT_LENGTH = Limit("word", 200_000, "characters in a name or a product")
MAX_REPEATED = Limit("repeated", 1 << 16, "positions along an axis after repeat_interleave with a list")
MAX_LINE_BYTES = Limit("line", 1 << 20, "bytes in a line of standard input or of a case file")
MAX_CODE_LENGTH = Limit("code", 1 << 20, "characters of Python code")
MAX_STATEMENTS = Limit("statements", 20_000, "statements and loop iterations of Python code")
MAX_NAMES = Limit("names", 1000, "named sizes in a request")
MAX_STAGES = Limit("stages", 1000, "stages in a chain")
MAX_CHAIN_DIMS = Limit("chain-dims", 1 << 17, "dims in all stages of a chain")
MAX_CHAIN_NAMES = Limit("chain-names", 20_000, "pairs of a named size and a stage in a chain")
MAX_WHEN_CONDITIONS = Limit("conditions", 100, "conditions in the expectation of a case")

MAX_AGENT_LINE_BYTES = Limit("agent-line", 1 << 26, "bytes in a line from an agent")
MAX_AGENT_ANSWER_LENGTH = Limit("agent-answer", 1 << 20, "characters in an answer to an agent, including the JSON")

MAX_WORK = Limit(
    "work",
    20_000,
    "inequalities derived to find the implications of conditions",
    "implications may be missing",
)
MAX_CHAIN_WORK = Limit(
    "chain-work",
    200_000,
    "inequalities derived for the conditions of all stages of a chain",
    "redundant conditions are also printed",
)
MAX_ZERO_TESTED_NAMES = Limit(
    "zeros", 64, "names that are tested for a size of 0", "the effect of a size of 0 is not reported"
)
MAX_AXIS_MIXING_STAGES = Limit(
    "mixed", 64, "consecutive stages that mix axes", "equiv compares elements, and origins are not exact"
)
MAX_EXAMINED_COPIES = Limit(
    "copies", 20_000, "mixing stages examined for a plan", "the plan may contain more copies than necessary"
)
MAX_FIND_PAIRS = Limit("find", 60_000, "pairs of axes examined by find", "find reports an incomplete search")
MAX_EQUIV_ELEMENTS = Limit("compared", 1 << 24, "elements compared by equiv", "the answer of equiv is undecided")

MAX_NUMBERED_ELEMENTS = Limit("counted", 1 << 20, "elements shown by --values for several operands without files")
MAX_FILM_STAGES = Limit("film-stages", 100, "stages in a film")
MAX_FILM_PICTURES = Limit("film-pictures", 1000, "pictures in a .gif film")

MAX_NPY_HEADER_BYTES = Limit("npy-header", 1 << 16, "bytes in the header of a .npy file")
MAX_SAFETENSORS_HEADER_BYTES = Limit("safetensors-header", 1 << 24, "bytes in the header of a .safetensors file")
MAX_ZARR_METADATA_BYTES = Limit("zarr-metadata", 1 << 24, "bytes in the metadata of a Zarr array or group")

LIMITS = {limit.name: limit for limit in [*globals().values()] if isinstance(limit, Limit)}
"""All limits, keyed by name."""
