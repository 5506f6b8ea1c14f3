"""The options that control the output, declared as the fields of `OutputOptions`.

Every command imports this module, so it imports no slow modules.
"""

from __future__ import annotations

from shapecalc.core.record import Record, import_attribute
from shapecalc.reading.options import Option, OptionKind, default_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def lazy_names(module: str, table: str) -> Callable[[], Iterable[str]]:
    """Return a function that returns the names in a table of another module.

    `table` is the attribute of the module. The module is imported only when the function is called.
    """

    def list_names() -> Iterable[str]:
        names: Iterable[str] = import_attribute(f"shapecalc.{module}", table)
        return names

    return list_names


MAX_STEP = 99_999
"""Maximum value of `--step`; no answer has this many steps."""
OUTPUT_OPTIONS: dict[str, Option] = {}
"""The options that control the output, by name."""


def _declare_option(name: str, help: str, *details: Any, **more_details: Any) -> Any:
    """Declare an option that controls the output, and return its default value.

    The option is added to `OUTPUT_OPTIONS`. The parameters are the fields of `Option`.
    """
    OUTPUT_OPTIONS[name] = Option(name, help, *details, **more_details)
    return default_values([OUTPUT_OPTIONS[name]])[name]


class OutputOptions(Record):
    """The values of the options that control the output and the exit code.

    The fields `film`, `line_prefix` and `hides_errors` are set by the program. Every other field has the name of its
    option.
    """

    explain: int = _declare_option(
        "explain",
        "Print the steps and a picture on standard error; --explain=all: every picture.",
        OptionKind.FLAG_OR_ALL,
        short="-e",
    )
    """Level of explanation: 0 for none, 1 for the steps with one picture, 2 for a picture of every step."""
    json: bool = _declare_option("json", "Print the answer as JSON, with all details.", OptionKind.FLAG)
    expect: str | None = _declare_option(
        "expect", "Exit 1 if the answer differs from this shape, pattern (N,?,...) or error RULE.", metavar="SHAPE"
    )
    quiet: bool = _declare_option("quiet", "Print nothing, and set only the exit code.", OptionKind.FLAG, short="-q")
    strict: bool = _declare_option("strict", "Exit 1 if the answer holds only under conditions.", OptionKind.FLAG)
    values: bool = _declare_option(
        "values", "Show the elements of the input and the output, by default 0, 1, 2 ...", OptionKind.FLAG
    )
    follow: str | None = _declare_option("follow", "Trace this input element through the stages.", metavar="INDEX")
    follow_out: str | None = _declare_option(
        "follow_out", "Trace this output element back to the input.", metavar="INDEX"
    )
    out: str | None = _declare_option(
        "out",
        "Transform the data of INPUT, and write it to this .npy file or .zarr store.",
        metavar="FILE",
        short="-o",
    )
    force: bool = _declare_option("force", "Overwrite an existing output or picture.", OptionKind.FLAG)
    backend: str = _declare_option(
        "backend", "Backend for the data: auto or numpy.", default="auto", completions=lambda: ("auto", "numpy")
    )
    plan: bool = _declare_option("plan", "Print the cost of writing a store, and write nothing.", OptionKind.FLAG)
    memory: str | None = _declare_option(
        "memory", "Memory limit of a worker for stores; 512MiB by default.", metavar="SIZE"
    )
    chunks: str | None = _declare_option("chunks", "Chunk shape of the output store.", metavar="SIZES")
    resume: bool = _declare_option("resume", "Resume writing an interrupted output store.", OptionKind.FLAG)
    verify: str | None = _declare_option(
        "verify",
        "Compare an output store with its source: sample or all.",
        metavar="HOW",
        completions=lambda: ("sample", "all"),
    )
    cluster: str | None = _declare_option(
        "cluster", "Cluster for stores: local:N, tcp://HOST:PORT or tls://HOST:PORT.", metavar="WHERE"
    )
    code: str | None = _declare_option(
        "code",
        "Print equivalent code instead of the answer",
        long="--as",
        completions=lazy_names("render.code", "TARGETS"),
        lists_completions=True,
    )
    picture: str | None = _declare_option(
        "picture", "Draw the answer, or the step of --step, in this .svg, .png or .html file.", metavar="FILE"
    )
    step: int | None = _declare_option(
        "step",
        "Step to draw, by default the most informative one; 0 is the request.",
        OptionKind.NUMBER,
        "N",
        maximum=MAX_STEP,
    )
    theme: str | None = _declare_option(
        "theme", "Background of the picture: light or dark.", completions=lazy_names("render.files", "PAGE_COLOURS")
    )
    width: int | None = _declare_option(
        "width",
        "Width of the picture in characters; 80 by default.",
        OptionKind.NUMBER,
        "N",
        minimum=40,
        maximum=400,
    )
    pixels: str | None = _declare_option(
        "pixels", "Size of the picture or film in pixels, such as 1280x720 for a slide.", metavar="WxH"
    )
    no_config: bool = _declare_option(
        "no_config", "Ignore defaults from the environment, pyproject.toml and config.toml.", OptionKind.FLAG
    )
    film: str | None = None
    """Name of the animation file that the command `film` writes."""
    line_prefix: str = ""
    """Prefix of all messages, such as `line 2: `; empty if the input has only one line."""
    hides_errors: bool = False
    """Whether error messages are omitted from text output, because too many lines of the input have failed."""

    @property
    def explains_all(self) -> bool:
        """Whether the picture of every step is requested."""
        return self.explain > 1

    @property
    def has_data_options(self) -> bool:
        """Whether an option that concerns the data of the input is set."""
        texts = (self.follow, self.follow_out, self.out)
        return (
            self.has_store_options or self.values or self.backend != "auto" or any(text is not None for text in texts)
        )

    @property
    def has_store_options(self) -> bool:
        """Whether an option that applies only to stores is set."""
        texts = (self.memory, self.chunks, self.verify, self.cluster)
        return self.plan or self.resume or any(text is not None for text in texts)

    @property
    def has_picture_options(self) -> bool:
        """Whether an option that concerns a picture or a film is set."""
        values = (self.film, self.picture, self.step, self.theme, self.width, self.pixels)
        return any(value is not None for value in values)


THEME_OPTION = OUTPUT_OPTIONS["theme"]
