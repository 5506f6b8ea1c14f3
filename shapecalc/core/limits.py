"""The limits on the size and the work of one request.

The limits count work instead of time, so they are the same on all machines. The error message for an exceeded limit
contains the name of the limit. The page `shapecalc help limits` lists all limits.
"""

from __future__ import annotations

from shapecalc.core.problem import usage_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, Unpack

    from shapecalc.core.problem import Location, ShapeError

REFUSED = "refused"


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

    def __new__(cls, name: str, maximum: int, quantity: str, consequence: str = REFUSED) -> Self:
        """Create a limit whose largest allowed value is `maximum`."""
        limit = super().__new__(cls, maximum)
        limit.name, limit.quantity, limit.consequence = name, quantity, consequence
        return limit

    def message(self, amount: str) -> str:
        """Return the message for an amount that exceeds the limit."""
        return f"{amount}, and the limit '{self.name}' is {int(self)}"

    def error(self, amount: str, hint: str = "shapecalc help limits", **location: Unpack[Location]) -> ShapeError:
        """Return the error (usage) for an amount that exceeds the limit."""
        return usage_error(self.message(amount), hint, **location)


MAX_SHAPE_DIMS = Limit("dims", 1 << 16, "dims of one shape, and slices")
MAX_DIGITS = Limit("digits", 1000, "digits of a number; int64 has 19")
MAX_SIZE_DIGITS = Limit("size-digits", 30, "digits of a size that is put in for a name")
MAX_DIM_TEXT_LENGTH = Limit("word", 200_000, "characters of a name or a product")
MAX_LINE_BYTES = Limit("line", 1 << 20, "bytes of a line of standard input or of a case file")
MAX_CODE_LENGTH = Limit("code", 1 << 16, "characters of a line of code")
MAX_STATEMENTS = Limit("statements", 1000, "statements of code that is read")
MAX_NAMES = Limit("names", 1000, "names of sizes in one request")
MAX_STAGES = Limit("stages", 1000, "stages of a chain")
MAX_CHAIN_DIMS = Limit("chain-dims", 1 << 17, "dims of all stages of a chain together")
MAX_CHAIN_NAMES = Limit("chain-names", 20_000, "names of sizes in a chain, times its stages")
MAX_WHEN_CONDITIONS = Limit("conditions", 100, "conditions behind the when of a case")

MAX_AGENT_LINE_BYTES = Limit("agent-line", 1 << 26, "bytes of a line that an agent sends")
MAX_AGENT_ANSWER_LENGTH = Limit("agent-answer", 1 << 20, "characters of the text and the JSON that an agent gets")

MAX_WORK = Limit("work", 20_000, "inequalities that are made to see what follows from conditions", "not said")
MAX_CHAIN_WORK = Limit("chain-work", 200_000, "such inequalities for all stages of a chain", "conditions all listed")
MAX_ZERO_TESTS = Limit("zeros", 64, "names of sizes that are tried with 0, one by one", "not said")
MAX_MIXED_STAGES = Limit(
    "mixed", 64, "stages in a row in which axes mix", "equiv compares elements, origins are not exact"
)
MAX_COPY_SEARCH = Limit("copies", 20_000, "mixed stages that a plan looks through", "there may be more copies")
MAX_FIND_PAIRS = Limit("find", 60_000, "pairs of axes that find looks at", "find says that it is not complete")
MAX_EQUIV_ELEMENTS = Limit("compared", 1 << 24, "elements that equiv compares one by one", "equiv says undecided")

MAX_NUMBERED_ELEMENTS = Limit("counted", 1 << 20, "elements of several operands that --values shows without files")
MAX_FILM_STAGES = Limit("film-stages", 100, "stages of a film")
MAX_FILM_PICTURES = Limit("film-pictures", 1000, "pictures of a film in a .gif")

MAX_NPY_HEADER_BYTES = Limit("npy-header", 1 << 16, "bytes of the header of a .npy file")
MAX_SAFETENSORS_HEADER_BYTES = Limit("safetensors-header", 1 << 24, "bytes of the header of a .safetensors file")
MAX_ZARR_METADATA_BYTES = Limit("zarr-metadata", 1 << 24, "bytes of the metadata of a Zarr array or group")

LIMITS = {limit.name: limit for limit in [*globals().values()] if isinstance(limit, Limit)}
"""All limits by name."""
