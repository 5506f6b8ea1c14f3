"""An animation that compares two outputs of equal shape, element by element."""

from __future__ import annotations

from math import prod

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.moves import ravel, unravel
from shapecalc.core.problem import usage_error
from shapecalc.core.text import shape_text
from shapecalc.reading.commands import chain_text
from shapecalc.reasoning.equiv import Counterexample, differences_text
from shapecalc.render.canvas import UNICODE, clip_line, stack_texts
from shapecalc.render.files import check_theme, match_extension, render_animation
from shapecalc.render.grid import TensorPath, build_tensor_path, draw_output_grids
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.render.tape import MAX_TAPE_ELEMENTS, draw_output_tapes

COMPARISON_SUFFIXES = (".svg",)
COMPARISON_WIDTH, GRID_LINES = 64, 14
"""The width of the animation in characters, and the maximum height of its tables in lines."""
END_SECONDS, SCRUB_SECONDS, MAX_FRAMES = 1.2, 4.8, 24
"""The duration of the first and of the last frame, the total duration of the frames between them, and the maximum
number
of these frames.

The durations are in seconds.
"""


def position_text(paths: tuple[TensorPath, TensorPath], position: int) -> str:
    """Describe the elements at a flat index of two outputs, with their input indices.

    >>> import shapecalc as sc
    >>> pair = tuple(build_tensor_path(sc.chain("2,3", op)) for op in ("reshape 3,2", "transpose 1,0"))
    >>> position_text(pair, 1)
    'place 2 of 6, [0,1]: first 1 from x[0,1], second 3 from x[1,0]'
    """
    shape, texts = paths[0].tensors[-1].shape, list[str]()
    index = unravel(position, shape)
    for name, path in zip(("first", "second"), paths, strict=True):
        source = path.source_index(len(path.tensors) - 1, index)
        if isinstance(source, tuple):
            texts.append(f"{name} {ravel(source, path.tensors[0].shape)} from x[{shape_text(source)}]")
        else:
            texts.append(f"{name} {source} from the pad")
    return f"place {position + 1} of {prod(shape)}, [{shape_text(index)}]: {', '.join(texts)}"


def draw_comparison_frames(
    answers: tuple[Trace | Chain, Trace | Chain], counterexample: Counterexample, differing_count: int
) -> list[Text]:
    """Draw both outputs several times, each time with another element highlighted.

    The first and the last picture show the first difference. Up to `MAX_FRAMES` pictures between them show consecutive
    elements in C order. They start at the first difference, or earlier if too few elements follow it. If they do not
    show all elements, each picture has a note. `differing_count` is the number of elements that differ. Raises
    `ShapeError` (usage) if there are too many elements.
    """
    first, second = (build_tensor_path(answer, counterexample.sizes) for answer in answers)
    shape = first.tensors[-1].shape
    if max(prod(tensor.shape) for path in (first, second) for tensor in path.tensors) > MAX_TAPE_ELEMENTS:
        raise usage_error(f"a film of two outputs has at most {MAX_TAPE_ELEMENTS} elements", "take smaller sizes")
    difference = ravel(counterexample.index or (0,) * len(shape), shape)
    count = prod(shape)
    around = range(max(0, min(difference, count - MAX_FRAMES)), count)[:MAX_FRAMES]
    heads = [
        clip_line(Text(f"{name}  {chain_text(answer)}", "bold"), COMPARISON_WIDTH, UNICODE)
        for name, answer in zip(("first ", "second"), answers, strict=True)
    ]
    frames = list[Text]()
    for position in (difference, *around, difference):
        index = unravel(position, shape)
        tapes = draw_output_tapes((first, second), position, width=COMPARISON_WIDTH)
        grids = draw_output_grids(
            answers, counterexample, index=index, tinted_axis=0, width=COMPARISON_WIDTH, height=GRID_LINES
        )
        said, visited = Text(position_text((first, second), position), "bold"), Text()
        if len(around) < count:
            places = f"places {around[0] + 1} to {around[-1] + 1}"
            visited = Text(f"the film visits {places}: {len(around)} of {count} elements", "dim")
        end = Text(differences_text(differing_count, counterexample), BOLD_ERROR)
        frames.append(stack_texts([*heads, Text(), grids, Text(), tapes, said, visited, end]))
    return frames


def render_output_comparison(
    answers: tuple[Trace | Chain, Trace | Chain],
    counterexample: Counterexample,
    differing_count: int,
    name: str,
    theme: str | None = None,
) -> tuple[float, bytes]:
    """Render the animation of two outputs as a file.

    Returns the duration in seconds and the contents. The animation lasts about 7 seconds, and begins and ends with the
    first difference. Raises `ShapeError` (usage) if there are too many elements, and for an unknown extension or theme.
    """
    match_extension(name, COMPARISON_SUFFIXES, "film of two outputs")
    if theme is not None:
        check_theme(theme)
    frames = draw_comparison_frames(answers, counterexample, differing_count)
    between = [SCRUB_SECONDS / (len(frames) - 2)] * (len(frames) - 2)
    seconds = [END_SECONDS, *between, END_SECONDS]
    title = f"{chain_text(answers[0])} against {chain_text(answers[1])}"
    return sum(seconds), render_animation(frames, seconds, title, theme).encode()
