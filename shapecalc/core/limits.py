"""The limits on the size and the work of one request.

They count work instead of time, so they are the same on all machines. The message for an exceeded limit names it. The
page `shapecalc help limits` lists all limits.
"""

from __future__ import annotations

from shapecalc.core.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, Unpack

    from shapecalc.core.problem import Place, ShapeError

REFUSED = "refused"


class Limit(int):
    """An upper bound on one quantity of a request.

    >>> Limit("dims", 8, "the dims of a shape").passed("9 dims").problem.message
    "9 dims, and the limit 'dims' is 8"
    """

    name: str
    counts: str
    """The quantity that is limited, as `shapecalc help limits` describes it."""
    beyond: str
    """The consequence of exceeding the limit, as that page describes it."""

    def __new__(cls, name: str, most: int, counts: str, beyond: str = REFUSED) -> Self:
        """Create a limit of `most`."""
        limit = super().__new__(cls, most)
        limit.name, limit.counts, limit.beyond = name, counts, beyond
        return limit

    def said(self, found: str) -> str:
        """Return the message for an amount that exceeds the limit."""
        return f"{found}, and the limit '{self.name}' is {int(self)}"

    def passed(self, found: str, hint: str = "shapecalc help limits", **place: Unpack[Place]) -> ShapeError:
        """Return the error (usage) for an amount that exceeds the limit."""
        return misuse(self.said(found), hint, **place)


MOST_DIMS = Limit("dims", 1 << 16, "dims of one shape, and slices")
MAX_DIGITS = Limit("digits", 1000, "digits of a number; int64 has 19")
MOST_SIZE_DIGITS = Limit("size-digits", 30, "digits of a size that is put in for a name")
LONGEST_WORD = Limit("word", 200_000, "characters of a name or a product")
LONGEST_LINE = Limit("line", 1 << 20, "bytes of a line of standard input or of a case file")
LONGEST_CODE = Limit("code", 1 << 16, "characters of a line of code")
MOST_STATEMENTS = Limit("statements", 1000, "statements of code that is read")
MOST_NAMES = Limit("names", 1000, "names of sizes in one request")
MOST_STAGES = Limit("stages", 1000, "stages of a chain")
MOST_CHAIN_DIMS = Limit("chain-dims", 1 << 17, "dims of all stages of a chain together")
MOST_CHAIN_NAMES = Limit("chain-names", 20_000, "names of sizes in a chain, times its stages")
MOST_WHEN = Limit("conditions", 100, "conditions behind the when of a case")

LONGEST_MESSAGE = Limit("agent-line", 1 << 26, "bytes of a line that an agent sends")
LARGEST_ANSWER = Limit("agent-answer", 1 << 20, "characters of the text and the JSON that an agent gets")

MOST_WORK = Limit("work", 20_000, "inequalities that are made to see what follows from conditions", "not said")
MOST_COMBINED = Limit("chain-work", 200_000, "such inequalities for all stages of a chain", "conditions all listed")
MOST_ZEROS = Limit("zeros", 64, "names of sizes that are tried with 0, one by one", "not said")
MOST_MIXED = Limit("mixed", 64, "stages in a row in which axes mix", "equiv compares elements, origins are not exact")
MOST_LOOKED = Limit("copies", 20_000, "mixed stages that a plan looks through", "there may be more copies")
MOST_TRIED = Limit("find", 60_000, "pairs of axes that find looks at", "find says that it is not complete")
MOST_ELEMENTS = Limit("compared", 1 << 24, "elements that equiv compares one by one", "equiv says undecided")

MOST_COUNTED = Limit("counted", 1 << 20, "elements of several operands that --values shows without files")
MOST_FILMED = Limit("film-stages", 100, "stages of a film")
MOST_PICTURES = Limit("film-pictures", 1000, "pictures of a film in a .gif")

LONGEST_HEADER = Limit("npy-header", 1 << 16, "bytes of the header of a .npy file")
LONGEST_TENSOR_HEADER = Limit("safetensors-header", 1 << 24, "bytes of the header of a .safetensors file")
LONGEST_METADATA = Limit("zarr-metadata", 1 << 24, "bytes of the metadata of a Zarr array or group")

LIMITS = {limit.name: limit for limit in [*globals().values()] if isinstance(limit, Limit)}
"""All limits by name."""
