"""Explanations of a mismatch between two numbers.

The numbers are an actual and an expected size, or two element counts. An explanation is a guess from arithmetic, and is
offered only if it rarely fits two random numbers: tests limit the fraction of random pairs that are explained. Each
kind of explanation is one row of `KINDS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from math import gcd, isqrt, prod

from shapecalc.core.record import Record

MAX_EXPLANATIONS = 2
MAX_TARGET_RANK = 64
"""The maximum rank of a requested shape that is explained; NumPy's limit for arrays."""
TOKEN_COUNTS = (0, 1, 77, 226, 256, 512)
"""The numbers of tokens that well-known models add to a grid of patches.

In order: none, a class token, and the lengths of text inputs.
"""
PYRAMID_BOXES = (21, 63)
"""The numbers of boxes of a YOLO detector per 32x32 pixels: 16 + 4 + 1 grid cells, with 1 or 3 boxes each."""
PYRAMID_STRIDE = 32
"""The stride of the coarsest grid of a YOLO detector, in pixels."""
MIN_GRID_SIDE = 7
"""The minimum side of a grid of patches."""
MIN_MAP_SIDE = 2
"""The side that a feature map must exceed; for smaller maps, a matching area is probably a coincidence."""
MIN_LARGE_SIDE = 64
"""The minimum side of a square map that is explained with fewer than `MIN_CHANNELS` channels."""
MAX_SIDE_DIFFERENCE = 4
"""The maximum difference between the requested and the actual side of a square feature map."""
MAX_EXTRA_TOKENS = 32
"""The maximum number of class and register tokens in addition to a grid of patches."""
MAX_TEXT_NUMBERS = 60
"""The maximum number of distinct integers in the text; the numbers of a longer text are ignored."""
MAX_GRID_SIDE = 96
"""The maximum side of a grid of patches; a larger square is an image."""
MIN_GRID_SIDE_WITH_TEXT = 8
"""The minimum side of a grid of patches that is combined with text tokens."""
MIN_OFF_BY_ONE_LENGTH = 8
"""The minimum length for which a difference of one is explained; small numbers often differ by one."""
MIN_VOCABULARY = 20_000
"""The minimum size that is regarded as a vocabulary size."""
MIN_CHANNELS = 8
"""The minimum number of channels of a feature map."""
MIN_MAP_CHANNELS = 32
"""The minimum number of channels if only one element count is given."""
MAX_CHANNELS = 4096
"""The maximum number of channels of a feature map."""
MIN_SHARED_FACTOR = 16
"""The minimum factor that two sizes must share."""
MAX_COFACTOR = 64
"""The maximum cofactor of a factor that two sizes share."""
MAX_BATCH_RATIO = 64
"""The maximum ratio of two batch sizes that is explained."""
MAX_FLATTENED_SIDE = 64
"""The maximum side of a feature map that was flattened."""
MAX_HEADS = 256
"""The maximum number of attention heads."""
MIN_INFORMATIVE_SIZE = 16
"""The minimum size in a relation such as 2*n + 1, which small sizes fit by coincidence."""
MAX_ROUNDING = 2
"""The maximum difference in height or width that is explained by rounding."""
MIN_MAP_AREA = 400
"""The minimum area of a feature map that is explained by rounding; many products are close to a smaller area."""
MIN_ODD_PART = 9
"""The minimum odd part of a shared factor; a power of two divides most sizes."""
ONE_HOT_CLASS_COUNTS = (10, 100, 1000)
"""The numbers of classes for which one-hot labels are suggested."""
MAX_CLASSES = 20
"""The maximum number of classes that is compared with the number of labels in a batch."""
AMBIGUOUS_CLASS_COUNTS = frozenset({10, 20, 100, 200, 400, 600, 1000})
"""Class counts that are also common sizes of other axes."""
KNOWN_CLASS_COUNTS = frozenset(
    {10, 20, 21, 37, 80, 81, 90, 91, 100, 101, 102, 150, 200, 365, 400, 600, 1000, 1001, 21841}
)
"""The numbers of classes of well-known data sets, some including a background class."""
MODELS_BY_WIDTH = {
    384: "MiniLM and ViT-S",
    768: "BERT-base, ViT-B and the text encoder CLIP-L",
    1024: "BERT-large, ViT-L and the text encoder OpenCLIP-H",
    1152: "SigLIP So400m",
    1280: "ViT-H and the text encoder OpenCLIP-bigG",
    1536: "ViT-g and Qwen2 1.5B",
    2048: "the text conditioning of SDXL and of small language models",
    2304: "Gemma 2 2B",
    2560: "Qwen3 4B",
    2816: "the size conditioning of SDXL",
    3584: "Qwen2 7B",
    4096: "the text encoder T5-XXL and language models of 7B",
    5120: "language models of 13B",
    5632: "the size conditioning of Kolors",
}
"""Well-known models, by the number of features of their hidden states. Source: their public configurations."""
COMMON_WIDTHS = frozenset({1024, 2048, 4096})
"""Feature counts that many networks have; two of them do not identify a pair of models."""
SIZE_CONDITIONING_WIDTHS = frozenset({2816, 5632})
"""Feature counts of the size conditioning of image models; these are not flattened feature maps."""
RESNET_WIDTHS = {512, 2048}
"""The numbers of features of small and of large ResNets."""
FEED_FORWARD_RATIO = 4
"""The usual ratio of the hidden width of a feed-forward block to its input width."""
POSITION_WORDS = re.compile(r"(?i)pos_?emb|position|pos_enc|\bpe\b|positional")
"""Words of position embeddings."""
TOKEN_POSITIONS = (77, 512, 1024)
"""The maximum numbers of tokens of well-known text models."""
PIXELS_PER_LATENT = 8
"""The number of pixels per latent element along each side, in these models. Source: their public configurations."""
LATENT_MODELS = {
    4: "Stable Diffusion 1, 2 and XL",
    16: "Stable Diffusion 3, Flux and Wan 2.1",
    48: "Wan 2.2 5B",
    128: "LTX-Video",
}
"""Image and video models, by the number of channels of their latents. Source: their public configurations."""
EXTRA_UNET_INPUTS = {1: "a mask", 4: "another picture", 5: "a mask and a masked picture"}
"""Inputs that are often concatenated twice to a diffusion model's input, by their number of channels."""
FLUX_INPUTS = {
    64: "the latent of FLUX.1 dev",
    128: "the latent and a control picture, as of FLUX.1 Depth and Canny",
    384: "the latent, a masked picture and its mask, as of FLUX.1 Fill",
}
"""The inputs of FLUX models, keyed by the number of features of a patch. Source: their public configurations."""
UNET_INPUTS = {4: "latents", 5: "latents and depth", 8: "latents of two images", 9: "latents, mask and masked image"}
"""The inputs of diffusion models, by their number of channels."""
UNET_WIDTH, DEPTH_INPUTS = 320, 5
"""The output channels of the first layer of Stable Diffusion's UNet, and the input channels of its depth model."""
MAX_FACTORED_AREA = 1 << 24
"""The exclusive maximum area of a feature map that is factored into height and width."""
ASPECT_TOLERANCE = 0.03
"""The maximum relative difference between the aspect ratios of a requested and an actual feature map."""
MAX_LENGTH_RATIO = 8
"""The exclusive maximum ratio of a sequence length to the maximum length of a model."""
MIN_LENGTH_LIMIT = 1024
"""The minimum power of two that is regarded as the maximum sequence length of a model."""
IMAGE_CHANNEL_ADVICE = {
    (4, 3): ("a picture with an alpha channel", "drop the alpha channel: image.convert('RGB'), or x[..., :3]"),
    (1, 3): ("a grey picture where colours are expected", "convert it to RGB, or repeat its channel 3 times"),
    (3, 4): (
        "a picture in colours where a fourth channel is expected: alpha, depth, a mask, or a raw frame of four colours",
        "find what the fourth channel is and give it, or build the first layer for 3; image.convert('RGBA') adds alpha",
    ),
    (3, 1): (
        "a picture in colours where a grey one is expected",
        "convert it to grey, image.convert('L'), or let the first layer take 3 channels",
    ),
}
"""Description and advice for each pair of an actual and an expected number of image channels."""
MIN_DIGITS = 3
"""The minimum number of digits of a number that is regarded as a mistyped form of another one."""
MIN_LATENT_SIDE, MIN_CONCATENATED_WIDTH = 16, 64
"""The minimum side of a latent, and the minimum feature count of a concatenated part."""
MIN_FLAT_SIDE = 28
"""The minimum side of a flattened square image."""
MIN_IMAGE_SIDE = 16
"""The minimum side of a square image that explains an element count."""
BOX_FIELDS = 5
"""The number of fields of a detection box in addition to its classes: x, y, width, height and objectness."""
PIXEL_CHANNELS, MAX_PATCH_SIDE = (1, 3, 4), 32
"""The numbers of channels of a pixel, and the maximum side of a patch in pixels."""
MAX_TOTAL_STRIDE = 64
"""The maximum product of all strides of a network."""
HEAD_DIMS = (32, 64, 80, 96, 112, 128, 160, 192, 256)
"""The usual sizes of an attention head."""
MIN_LANGUAGE_HEAD_DIM = 128
"""The minimum head size that suggests a language model; heads of image models are smaller."""
MAX_INFERRED_RATIO = 50
"""The maximum ratio of the fitting size to the requested size, if the target contains -1."""
MAX_LEVEL_SIDE = 512
"""The maximum side of the smaller of two feature maps from adjacent levels of a network."""
MIN_DISTINCTIVE_SIZE = 1000
"""The minimum size for which a large ratio is explained, because it is rarely a coincidence."""
CHANNELS_TO_SIDE = 8
"""The minimum ratio of the channels to the sides of a map that identifies the channels."""
MAX_IMAGE_CHANNELS = 4
"""The maximum number of channels of an image."""
MAX_RATIO = 16
"""The maximum ratio of two sizes that is explained; a larger ratio is often a coincidence."""
MAX_CONCATENATED = 8
"""The maximum number of inputs that are assumed to be concatenated along their features."""
RATIO_SENTENCES = {
    2: "twice as many: would be two tensors in one, or one that was repeated",
    3: "three times as many: would be three tensors in one, or three colours",
    4: "four times as many: would be four tensors in one, or blocks of 2x2",
}
"""The sentences for small ratios; all other ratios share a general sentence."""
LOADER_WORDS = re.compile(r"(?i)epoch|loader|batch|\d+/\d+ \[|it/s|train|step")
"""Words in a log that suggest that the batch comes from a data loader."""
LABEL_WORDS = re.compile(
    r"(?i)label|target(?!s? ?(?:sizes?|dim|shape|=|:))|criterion|loss|one.?hot|class|cross_entropy|bce"
)
FOURIER_WORDS = re.compile(r"(?i)i?r?fft|stft|spectr")
COLOUR_WORDS = re.compile(r"(?i)mask|seg|region|pixel|x \*|\* ?x\b")
"""Words in code that multiplies an image or a feature map by a mask."""
IMAGE_CHANNELS = (3, 4)
MASK_WORDS = re.compile(r"(?i)mask|token|image_features|input_ids")
PATCH_WORDS = re.compile(r"(?i)position|patch|voxel|volume|pos_emb|3d")
TOKEN_WORDS = re.compile(r"(?i)\bmask\b|attention|\btokens?\b|cache")
FIT_WORDS = re.compile(r"\.fit\(|check_X_y|inconsistent numbers of samples")
METRIC_WORDS = re.compile(r"(?:_error|_score|_loss|accuracy|report|confusion_matrix)\(")
LATENT_WORDS = re.compile(r"(?i)diffus|comfy|\bvae\b|webui")
POSITION_WORDS = re.compile(r"(?i)position|pos_emb|wpe|clip|embedding|token_type|bert")
CONFUSION_WORDS = re.compile(r"(?i)confus|bincount|miou|fast_hist")
PICTURE_WORDS = re.compile(r"(?i)im(?:g|age)|picture|frame|photo")
LEVEL_WORDS = re.compile(r"(?i)upsampl|skip|fpn|unet|decod|feat_|_feat|lateral")
"""Words in code that combines feature maps from several levels of a network."""
SLICE = re.compile(r"\[[^\[\]:]{0,40}\w:[^\[\]:]{0,40}\w\]")
"""The pattern of a slice with both bounds in a line of code."""
IMAGE_SIZE = re.compile(r"\b(\d{2,5}) ?[x\u00d7] ?(\d{2,5})\b")
"""The pattern of the width and the height of an image in a log."""
SETTING_VALUE = re.compile(r"\b([A-Za-z_]\w{2,40}) ?= ?(\d{1,5})\b")
"""The pattern of a setting and its value in a line of code."""
LARGE_NUMBER = re.compile(r"(?<![\w.])\d{2,9}(?![\w.])")


class MismatchContext(Record):
    """The context of two mismatched numbers: shapes, kinds of sizes, and text."""

    target: tuple[int, ...] = ()
    """The requested shape, if the first number is an element count; -1 is an inferred dim."""
    axis: int | None = None
    """The axis whose sizes are the two numbers, or None if it is unknown."""
    is_divisor: bool = False
    """Whether the second number must divide the first."""
    is_channel: bool | None = False
    """Whether the numbers are sizes of an image's channel axis; None if the shapes are unknown."""
    is_loader_independent: bool = False
    """Whether a data loader cannot be the cause, as for concatenated operands, masks and declared inputs."""
    is_features: bool = False
    """Whether the numbers are the feature counts of a layer's input and of its weight."""
    is_length: bool = False
    """Whether the numbers are lengths of lists or table columns."""
    is_loss: bool = False
    """Whether the numbers are the batch sizes of predictions and of their targets."""
    is_weight: bool = False
    """Whether the numbers are sizes of a weight, in its file and in the model."""
    shape_sizes: frozenset[int] = frozenset()
    """The sizes of the shapes in the error message."""
    text: str = ""
    """The line of code and the log that surround the error message."""

    @property
    def numbers(self) -> frozenset[int]:
        """The integers of two to nine digits in the text."""
        return frozenset(map(int, LARGE_NUMBER.findall(self.text)))


class Explanation(Record):
    """A possible reason why two numbers differ."""

    kind: str
    arithmetic: str
    """Each number as a product or a sum, such as `256 = 16*16, 729 = 27*27`."""
    text: str
    """The conclusion from the arithmetic, worded as a guess."""
    advice: str
    """The first change to try, or the first value to check."""
    has_common_cause: bool
    """Whether one cause explains both numbers, so that they become equal when it is removed."""
    assumptions: int = 0
    """The number of assumptions: at most 1 if the numbers or their context leave no other likely reason."""

    def as_json(self) -> dict[str, object]:
        """Return the explanation as the JSON object that the manual documents."""
        return {"kind": self.kind, "arithmetic": self.arithmetic, "text": self.text, "agree": self.has_common_cause}


class Candidate(Record):
    """A candidate explanation; fewer assumptions make it likelier."""

    assumptions: int
    arithmetic: str
    text: str
    advice: str
    has_common_cause: bool = True


CandidateSearch = Callable[[int, int, MismatchContext], Iterator[Candidate]]
"""A function that yields candidate explanations of an actual and an expected number."""


def explain_number_mismatch(
    figures: tuple[int, ...], context: MismatchContext | None = None
) -> tuple[Explanation, ...]:
    """Return explanations of two mismatched numbers, the likeliest first.

    `figures` are the actual and the expected size. If `context.target` is set, `figures` contains only an element
    count. At most `MAX_EXPLANATIONS` are returned.

    >>> [found.arithmetic for found in explain_number_mismatch((256, 729))]
    ['256 = 16*16, 729 = 27*27']
    >>> explain_number_mismatch((67800,), MismatchContext(target=(8, 1, 112, 74)))[0].arithmetic
    '67800 = 8*113*75'
    >>> explain_number_mismatch((257, 640))
    ()
    """
    around = context or MismatchContext()
    if len(around.target) > MAX_TARGET_RANK or (len(around.target) > 1 and 0 in around.target):
        return ()
    target_count = prod(size for size in around.target if size != -1)
    actual, expected = (*figures, target_count)[:2]
    if actual == expected or min(actual, expected) < 0:
        return ()
    found = [
        (candidate.assumptions, order, kind, candidate)
        for order, (kind, search) in enumerate(KINDS.items())
        if not around.is_loss or kind in LOSS_KINDS
        for candidate in search(actual, expected, around)
    ]
    ranked = sorted(found, key=lambda item: (not item[3].has_common_cause, *item[:2]))
    explanations: dict[str, Explanation] = {}
    for _, _, kind, candidate in ranked:
        if kind not in explanations and candidate.arithmetic not in {item.arithmetic for item in explanations.values()}:
            explanations[kind] = Explanation(
                kind,
                candidate.arithmetic,
                candidate.text,
                candidate.advice,
                candidate.has_common_cause,
                candidate.assumptions,
            )
    return tuple([*explanations.values()][:MAX_EXPLANATIONS])


def describe_count(count: int) -> tuple[str, ...]:
    """Describe an element count as likely products and sums.

    At most `MAX_EXPLANATIONS` descriptions are returned.

    >>> describe_count(4608)
    ('4608 = 512+64*64: would be patches beside 512 tokens of text', '4608 = 512*3*3: would be maps, flattened')
    >>> describe_count(36992), describe_count(4607)
    (('36992 = 128*17*17: would be maps, flattened',), ())
    """
    found = []
    for tokens in TOKEN_COUNTS:
        side = _grid_side(count - tokens)
        if side >= (MIN_GRID_SIDE_WITH_TEXT if tokens > 1 else MIN_GRID_SIDE) and not (
            tokens == 0 and _is_power_of_two(count)
        ):
            beside = {0: "", 1: " and a class token"}.get(tokens, f" beside {tokens} tokens of text")
            found.append(f"{count} = {_format_grid(side, tokens)}: would be patches{beside}")
    channels = (count & -count) if count else 0
    side = isqrt(count // max(channels, 1))
    if channels >= MIN_MAP_CHANNELS and side >= 3 and side * side * channels == count and side <= MAX_FLATTENED_SIDE:
        found.append(f"{count} = {channels}*{side}*{side}: would be maps, flattened")
    return tuple(found[:MAX_EXPLANATIONS])


def _explain_empty(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a size of 0: a layer without features, or an empty selection."""
    if expected == 0 and context.is_features:
        yield Candidate(
            0,
            "0 features expected",
            "the layer was built for 0 features: would be a size read from the wrong axis, or rounded down to 0",
            f"find the size that the layer was built with, and build it for {actual} features",
        )
    elif 0 in (actual, expected):
        side = "the first" if actual == 0 else "the second"
        yield Candidate(
            0,
            f"{side} is 0",
            "one side is empty: would be a selection that matched nothing, or a slice or a limit that cut everything",
            "print the empty one, and what it is selected or cut from: a mask or filter, a slice behind the end, or a "
            "maximum length that other parts use up",
        )


def _explain_off_by_one(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a difference of one, for example by a class token or an inclusive end."""
    small, large = sorted((actual, expected))
    is_map_side = (context.axis or 0) >= 2 and small > 1 and not context.is_channel
    if large - small != 1 or (small < MIN_OFF_BY_ONE_LENGTH and not is_map_side):
        return
    row = next(row for row in OFF_BY_ONE_REASONS if row.applies(small, context))
    values = {"large": large, "small": small, "side": isqrt(small), "actual": actual}
    assumptions = 2 if row is OFF_BY_ONE_REASONS[-1] else 1
    yield Candidate(assumptions, row.arithmetic.format(**values), row.text, row.advice.format(**values))


class OffByOneReason(Record):
    """A reason for a difference of one."""

    applies: Callable[[int, MismatchContext], bool]
    """A function of the smaller size and its context that returns whether the reason is likely."""
    text: str
    advice: str
    arithmetic: str = "{large} = {small}+1"


def _is_square_grid(small: int, context: MismatchContext) -> bool:
    return _grid_side(small) > 0 and not context.is_features and not context.is_loader_independent


def _is_map_side(_small: int, context: MismatchContext) -> bool:
    return (context.axis or 0) >= 2 or LEVEL_WORDS.search(context.text) is not None


ODD_LENGTH = "{large} = {small}+1, an odd and an even length"
HALVED_LENGTH = "would be an odd length that was halved and doubled, or an end that is counted on one side only"
OFF_BY_ONE_REASONS = (
    OffByOneReason(
        lambda small, context: context.is_weight and _grid_side(small) == 0,
        "would be a token, a class or a column that only one side has, such as an unknown word or a background",
        "find it in the settings or the data with which each of the two was made",
    ),
    OffByOneReason(
        _is_square_grid,
        "would be a class token that only one side has",
        "drop it, x[:, 1:], or add it to the {small}",
        "{large} = {side}*{side}+1, {small} = {side}*{side}",
    ),
    OffByOneReason(
        lambda _, context: context.is_features,
        "would be one column that only one side has",
        "compare the columns of both: an index, a label, a constant, or one category more; take those of the training",
    ),
    OffByOneReason(
        lambda _, context: context.is_length,
        "would be one row or item that only one side has",
        "find the row: a header, a total or a filter",
    ),
    OffByOneReason(
        lambda _, context: context.axis == 0 and not context.is_loader_independent,
        "would be one sample that only one side has: a label that is missing, or an end that is counted twice",
        "find the sample, by the length of both at dim 0, or cut the longer to {small}",
        "{large} = {small}+1, at dim 0",
    ),
    OffByOneReason(
        lambda _, context: FOURIER_WORDS.search(context.text) is not None,
        "irfft returns an even length unless it is given n",
        "pass the length: irfft(..., n={actual})",
        ODD_LENGTH,
    ),
    OffByOneReason(
        lambda small, context: small >= MIN_VOCABULARY and context.axis != 0,
        "would be a vocabulary to which a token was added",
        "resize the embedding after tokens are added: model.resize_token_embeddings(len(tokenizer))",
    ),
    OffByOneReason(
        lambda _, context: (
            LABEL_WORDS.search(context.text) is not None
            and (context.axis != 0 or context.is_loader_independent)
            and not {4, 5} & context.shape_sizes
        ),
        "would be a class for the background",
        "build both with {large} classes, or both with {small}",
    ),
    OffByOneReason(
        lambda _, context: TOKEN_WORDS.search(context.text) is not None and not LEVEL_WORDS.search(context.text),
        "would be a mask or an index that lacks one token: a special token, or the next token beside a cache",
        "build the mask for {large} tokens, or pass none where only one token is new",
    ),
    OffByOneReason(
        _is_map_side,
        HALVED_LENGTH,
        "pad the picture until all strides divide its sides, often to a multiple of 32, or cut to {small}",
        ODD_LENGTH,
    ),
    OffByOneReason(
        lambda _small, _context: True,
        "would be an end that is counted on one side only, or an odd length that was halved and doubled",
        "find the item that only one side has, or cut the longer to {small}",
        ODD_LENGTH,
    ),
)
"""The reasons for a difference of one, in order of priority; the last one always applies."""


def _explain_swapped_digits(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes that differ by a swap of two adjacent digits."""
    one, two = str(actual), str(expected)
    swaps = {f"{one[:at]}{one[at + 1]}{one[at]}{one[at + 2 :]}" for at in range(len(one) - 1)}
    if len(one) >= MIN_DIGITS and two in swaps and not context.target:
        yield Candidate(
            2,
            f"{actual} and {expected} have the same digits",
            "would be a number in which two digits were swapped as it was typed",
            f"look for a literal {actual} or {expected} in the code, and compare it with the data",
        )


def _explain_counted_twice(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a number of attention keys in which the cached tokens are counted twice."""
    small, large = sorted((actual, expected))
    is_attention = TOKEN_WORDS.search(context.text) is not None or "attn" in context.text
    if small >= MIN_INFORMATIVE_SIZE and abs(large - 2 * small) == 1 and is_attention:
        yield Candidate(
            1,
            f"{large} = 2*{small}{large - 2 * small:+d}",
            "would be the tokens of the prompt, counted once in the cache and once more as new tokens",
            f"find what adds the length of the cache: the mask is for {small} tokens, past and new together",
        )


def _explain_squares(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two token counts by square grids of patches and extra tokens."""
    is_own_square = max(actual, expected) == min(actual, expected) ** 2
    # features and lengths are not token counts
    if context.is_features or context.is_length or context.target or is_own_square:
        return
    has_positions = POSITION_WORDS.search(context.text) is not None
    both_powers = _is_power_of_two(actual) and _is_power_of_two(expected)
    tokens = dict.fromkeys([*TOKEN_COUNTS, *sorted(context.numbers - {actual, expected})])
    pairs = [(count, count) for count in tokens] + [(0, 1), (1, 0)]
    for count, other in pairs:
        side, other_side = isqrt(max(actual - count, 0)), isqrt(max(expected - other, 0))
        if side * side != actual - count or other_side * other_side != expected - other:
            continue
        least = MIN_GRID_SIDE_WITH_TEXT if count > 1 else MIN_GRID_SIDE
        if has_positions and max(count, other) == 1 and max(side, other_side) >= MIN_GRID_SIDE:
            least = 2
        if min(side, other_side) < least or side == other_side or (both_powers and not count and not other):
            continue
        terms = (_format_grid(side, count), _format_grid(other_side, other))
        beside = {0: "", 1: " and a class token"}.get(max(count, other), f" beside {count} tokens of text")
        is_picture = max(side, other_side) > MAX_GRID_SIDE
        if context.is_loader_independent and not count and max(side, other_side) == 2 * min(side, other_side):
            yield Candidate(
                1,
                f"{actual} = {terms[0]}, {expected} = {terms[1]}",
                "would be maps of two levels of the network, one stride of 2 apart, each flattened",
                "join maps of one level, or join them along this axis",
            )
            continue
        yield Candidate(
            len({count, other} - {0}) + (count != other) + 3 * is_picture,
            f"{actual} = {terms[0]}, {expected} = {terms[1]}",
            "would be pictures or maps of two sizes"
            if is_picture
            else f"would be patches of another picture or patch size{beside}",
            f"resize one to the other: {side}x{side} and {other_side}x{other_side}"
            if is_picture
            else f"give both one picture size: one has {side}x{side} patches, the other {other_side}x{other_side}; or "
            "resize the position embedding",
        )


def _explain_pyramids(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes as the numbers of boxes of a detector with maps of three sizes."""
    for boxes in PYRAMID_BOXES:
        sides = [isqrt(max(size, 0) // boxes) for size in (actual, expected)]
        is_pair = all(side * side * boxes == size for side, size in zip(sides, (actual, expected), strict=True))
        if is_pair and min(sides) >= MIN_GRID_SIDE and not context.target and not context.is_features:
            one, two = (side * PYRAMID_STRIDE for side in sides)
            yield Candidate(
                1,
                f"{actual} = {boxes}*{sides[0]}*{sides[0]}, {expected} = {boxes}*{sides[1]}*{sides[1]}",
                f"would be boxes of a detector at strides 8, 16 and 32, for pictures of {one}x{one} and {two}x{two}",
                f"give it one picture size, {one} or {two}: boxes or anchors that were computed at the export are "
                "constants in the file",
            )
            return


def _explain_cubes(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes by cubic grids of patches of two volumes."""
    sides = [round(size ** (1 / 3)) for size in (actual, expected)]
    is_cube = all(side**3 == size for side, size in zip(sides, (actual, expected), strict=True))
    is_grid = is_cube and PATCH_WORDS.search(context.text) is not None
    if is_grid and max(sides) >= MIN_GRID_SIDE and min(sides) > 1 and not context.target and not context.is_features:
        one, two = sides
        yield Candidate(
            2,
            f"{actual} = {one}*{one}*{one}, {expected} = {two}*{two}*{two}",
            f"would be patches of a volume: a grid of {one} on each side, where {two} is expected",
            f"give the volume the size that makes {two} patches on each side, or build the model for {one}",
        )


def _explain_feature_maps(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two feature counts by flattened square maps of equally many channels."""
    common = gcd(actual, expected) if min(actual, expected) > 0 else 0
    if not common or (_is_power_of_two(actual) and _is_power_of_two(expected) and not context.is_features):
        return
    if context.target:
        return
    side, other = isqrt(actual // common), isqrt(expected // common)
    if side * side * common != actual or other * other * common != expected or side == other:
        return
    channels, factor = common, 1
    # an odd square factor is part of the map's area, not of its channels
    while _odd_part(channels) > 1 and channels % (factor + 2) ** 2 == 0:
        factor += 2
    # a flattened map is a layer's input, so the mismatch is not reported for an axis
    if not context.is_features and context.axis is not None and min(side, other) == 1:
        return
    channels //= factor * factor
    side, other = side * factor, other * factor
    least = 3 if context.is_features and min(side, other) > 1 else MIN_CHANNELS
    if channels < least or max(side, other) > MAX_FLATTENED_SIDE or (min(side, other) > 1 and channels > MAX_CHANNELS):
        return
    sides = ((actual, side), (expected, other))
    terms = [f"{count} = {channels}*{each}*{each}" for count, each in sides if each > 1]
    if min(side, other) == 1 and channels > MAX_CHANNELS:
        text = f"would be maps of {max(side, other)} times the height and the width: pictures of another size"
        advice = f"compare the picture size with that for which the layer of {expected} was built, or pool to it"
    elif other == 1:
        text = f"would be {channels} channels of a {side}x{side} map that was flattened"
        advice = f"pool each map to 1x1 before it is flattened, or build the layer for {actual} features"
    elif side == 1:
        text = f"would be {channels} channels of a {other}x{other} map, not flattened"
        advice = "flatten before the linear layer, x.flatten(1)"
    else:
        text = f"would be {channels} channels of another picture size: {side}x{side} against {other}x{other} maps"
        # `actual` is the size of a saved weight, or the feature count of a layer's input
        built, made = (side, other) if context.is_weight else (other, side)
        advice = (
            f"compare the picture size with that of the training: the layer is for {built}x{built} maps, and {made}x"
            f"{made} come{_format_sizes(built, made, context)}; resize the pictures for a pretrained layer, or build "
            "the layer for these"
        )
    are_squares = isqrt(actual) ** 2 == actual and isqrt(expected) ** 2 == expected
    are_powers = _is_power_of_two(actual) and _is_power_of_two(expected)
    is_specific = min(side, other) > 1 and not are_powers and not are_squares
    assumptions = 1 if is_specific else 2 if max(side, other) > MIN_MAP_SIDE else 3
    yield Candidate(assumptions, ", ".join(terms), text, advice)


def _format_sizes(built: int, made: int, context: MismatchContext) -> str:
    """Format the image sizes of two feature maps and their stride.

    Returns an empty string unless the text contains one of the image sizes.
    """
    for stride in (32, 16, 8, 4):
        if made * stride in context.numbers or built * stride in context.numbers:
            return f", which would be pictures of {built * stride} and {made * stride} with strides of {stride}"
    return ""


def _explain_flattened_images(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two feature counts by two flattened square images of different sizes."""
    (channels, side), (other_channels, other) = _flattened_image_dims(actual), _flattened_image_dims(expected)
    if context.is_features and min(side, other) >= MIN_FLAT_SIDE and actual != expected:
        terms = [f"{times}*" if times > 1 else "" for times in (channels, other_channels)]
        yield Candidate(
            2,
            f"{actual} = {terms[0]}{side}*{side}, {expected} = {terms[1]}{other}*{other}",
            f"would be pictures of {side}x{side} and {channels} channels, flattened, where {other}x{other} and "
            f"{other_channels} are expected",
            f"give the layer pictures of {other}x{other} and {other_channels} channels, or build it for {actual} "
            "features",
        )


def _flattened_image_dims(count: int) -> tuple[int, int]:
    """Return the channels and the side of a square image of `count` values.

    Returns two zeros if there is no such image.
    """
    for channels in (1, 3):
        side = isqrt(max(count, 0) // channels)
        if side * side * channels == count:
            return channels, side
    return 0, 0


def _explain_channels(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two channel counts of an image: grey, RGB or RGBA."""
    if context.is_channel and (actual, expected) in IMAGE_CHANNEL_ADVICE:
        what, advice = IMAGE_CHANNEL_ADVICE[actual, expected]
        yield Candidate(1, f"{actual} and {expected} channels", f"would be {what}", advice)
    elif context.is_channel is None and context.axis in (0, 1) and (actual, expected) == (4, 3):
        what, advice = IMAGE_CHANNEL_ADVICE[4, 3]
        yield Candidate(2, f"{actual} and {expected} at dim {context.axis}", f"if these are channels: {what}", advice)
    for axis, size in enumerate(context.target if -1 not in context.target else ()):
        others = prod((*context.target[:axis], *context.target[axis + 1 :]))
        sides = context.target[axis + 1 : axis + 3] or context.target[max(axis - 2, 0) : axis]
        channels, remainder = divmod(actual, others or 1)
        is_picture = not remainder and len(sides) == 2 and min(sides) >= MIN_IMAGE_SIDE
        if is_picture and (channels, size) in IMAGE_CHANNEL_ADVICE:
            what, advice = IMAGE_CHANNEL_ADVICE[channels, size]
            yield Candidate(0, f"{actual} = {channels}*{others}", f"would be {what}", advice)
    small, large = sorted((actual, expected))
    side = isqrt(max(small, 0))
    if context.target and large == 3 * small and side * side == small and side >= MIN_IMAGE_SIDE:
        what, advice = IMAGE_CHANNEL_ADVICE[(1, 3) if actual == small else (3, 1)]
        yield Candidate(1, f"{small} = {side}*{side}, {large} = 3*{side}*{side}", f"would be {what}", advice)


def _explain_encoder(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two feature counts by two well-known encoders, or by a skipped layer."""
    large, small = max(actual, expected), max(1, min(actual, expected))
    if context.is_features and {actual, expected} <= {*FLUX_INPUTS} and "flux" in context.text.lower():
        yield Candidate(
            1,
            f"{actual} and {expected} features",
            f"would be {FLUX_INPUTS[actual]}, where a model of {FLUX_INPUTS[expected]} is loaded",
            f"give it what the {expected} are made of, joined along the features before the first layer, or load the "
            f"model for {actual}",
        )
        return
    if context.is_features and {actual, expected} == RESNET_WIDTHS:
        given, wanted = ("ResNet-18 or 34", "ResNet-50") if actual == small else ("ResNet-50", "ResNet-18 or 34")
        yield Candidate(
            2,
            f"{actual} and {expected} features",
            f"would be the features of {given}, where those of {wanted} are expected",
            f"build the layer for {actual} features, as model.fc.in_features says",
        )
        return
    is_map = large % small == 0 and isqrt(large // small) ** 2 == large // small
    if context.is_features and expected == FEED_FORWARD_RATIO * actual and actual in MODELS_BY_WIDTH:
        yield Candidate(
            2,
            f"{large} = {FEED_FORWARD_RATIO}*{small}",
            f"would be the inner width of a feed-forward block of {small} features, whose first layer was skipped",
            "find where the first linear layer of the block is skipped, or the second is applied twice",
        )
        return
    is_known = {actual, expected} <= {*MODELS_BY_WIDTH} and not {actual, expected} <= COMMON_WIDTHS
    if (
        context.is_features
        and context.axis is None
        and is_known
        and (not is_map or SIZE_CONDITIONING_WIDTHS & {actual, expected})
    ):
        yield Candidate(
            2,
            f"{actual} and {expected} features",
            f"{actual} is the width of {MODELS_BY_WIDTH[actual]}; {expected} of {MODELS_BY_WIDTH[expected]}",
            "take both parts from one model: the encoder that this model was made for, or the model for this encoder",
        )


def _explain_latents(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two channel counts by the inputs or latents of diffusion models."""
    is_unet = UNET_WIDTH in context.numbers or (
        DEPTH_INPUTS not in (actual, expected) and LATENT_WORDS.search(context.text) is not None
    )
    if context.axis == 1 and {actual, expected} <= {*UNET_INPUTS} and context.is_features and is_unet:
        yield Candidate(
            1,
            f"{actual} and {expected} channels",
            f"would be a diffusion model of another task: {expected} channels are {UNET_INPUTS[expected]}",
            f"load the model for {UNET_INPUTS[actual]} ({actual} channels), or take the pipeline of the loaded one",
        )
    elif (
        context.axis == 1
        and context.is_features
        and is_unet
        and expected in UNET_INPUTS
        and actual - expected in EXTRA_UNET_INPUTS
    ):
        extra = EXTRA_UNET_INPUTS[actual - expected]
        yield Candidate(
            1,
            f"{actual} = {expected}+{actual - expected}",
            f"{expected} channels are {UNET_INPUTS[expected]} of a diffusion model: would be {extra} joined once more",
            f"find the second place that joins {extra} to the input, and remove one of the two",
        )
    elif context.axis == 1 and {actual, expected} <= {*LATENT_MODELS} and not context.target:
        is_certain = context.is_features or {actual, expected} <= {4, 16, 48} or LATENT_WORDS.search(context.text)
        yield Candidate(
            1 if is_certain else 2,
            f"{actual} and {expected} channels",
            f"if these are latents, {actual} are the channels of {LATENT_MODELS[actual]}, {expected} of "
            f"{LATENT_MODELS[expected]}",
            "load the VAE and the model of one family, and encode the picture again: cached latents are of the old one",
        )


def _explain_pixels(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a feature count by single pixels instead of flattened patches."""
    side = isqrt(expected // actual) if actual in PIXEL_CHANNELS else 0
    if context.is_features and context.axis is None and 1 < side <= MAX_PATCH_SIDE and side * side * actual == expected:
        yield Candidate(
            2,
            f"{expected} = {actual}*{side}*{side}",
            f"would be patches of {side}x{side} pixels with {actual} channels, where single pixels are given",
            f"group the pixels into patches first, F.unfold(x, {side}), or build the layer for {actual} features",
        )


def _explain_groups(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by rows that do not form complete groups.

    The first requested dim, the number of groups, is -1.
    """
    target = context.target
    if target.count(-1) != 1 or target[0] != -1:
        return
    start = next((index for index in range(1, len(target)) if actual % prod(target[index:]) == 0), len(target))
    rows, group = actual // prod(target[start:]), prod(target[1:start])
    if 1 < start < len(target) and rows % group and rows > group:
        row = "x".join(map(str, target[start:]))
        yield Candidate(
            2,
            f"{actual} = {rows}*{'*'.join(map(str, target[start:]))}",
            f"would be {rows} rows of {row}, no whole groups of {group}: {rows % group} remain",
            f"find what makes {rows} rows: samples are missing or too many, or rows of another kind are among them",
        )


def _explain_box_fields(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a detection head for another number of classes."""
    target = context.target
    for axis, size in enumerate(target if -1 not in target else ()):
        needed, remainder = divmod(actual, expected // size)
        classes = needed - BOX_FIELDS
        if axis and not remainder and 3 in target[:axis] and classes in KNOWN_CLASS_COUNTS and size > BOX_FIELDS:
            asked = size - BOX_FIELDS
            yield Candidate(
                0,
                f"{3 * needed} = 3*({classes}+{BOX_FIELDS}), {3 * size} = 3*({asked}+{BOX_FIELDS})",
                f"would be a last layer for {classes} classes, where {asked} are configured: 3 boxes of 5 fields",
                f"set filters={3 * size} in the layer before each head for {asked} classes, or classes={classes}",
            )


def _explain_prompts(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a different number of prompts, each of 77 tokens."""
    tokens, target = TOKEN_POSITIONS[0], context.target
    for axis, size in enumerate(target if -1 not in target else ()):
        rows, remainder = divmod(actual, prod((*target[:axis], *target[axis + 1 :])) or 1)
        if not remainder and size % tokens == 0 == rows % tokens and rows not in (0, size):
            given, requested = rows // tokens, size // tokens
            yield Candidate(
                1,
                f"{rows} = {given}*{tokens}, {size} = {requested}*{tokens}",
                f"would be {given} prompts of {tokens} tokens where {requested} are requested",
                f"give the text and the picture one batch: {requested} prompts, or {given} pictures; "
                "guidance doubles both, or neither",
            )


def _explain_floored_size(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a requested size that was rounded down."""
    target = context.target
    for axis in range(len(target) - 1, 0, -1) if -1 not in target else ():
        others = prod((*target[:axis], *target[axis + 1 :]))
        size, remainder = divmod(actual, others or 1)
        if remainder and size == target[axis] >= MIN_CHANNELS and actual * 10 % others == 0:
            yield Candidate(
                1,
                f"{actual} = {others}*{actual / others:g}",
                f"would be {actual / others:g}, which // rounded down to {size}: heads that do not divide the features",
                "choose a number of heads or groups that divides the features",
            )
            return


def _explain_resized_map(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a resized feature map.

    The map has another size than the requested one, but the same aspect ratio.
    """
    target = context.target
    for axis in range(len(target) - 1):
        height, width = target[axis : axis + 2]
        others = prod(size for index, size in enumerate(target) if index not in (axis, axis + 1))
        if -1 in target or min(height, width) < MIN_CHANNELS or others < MIN_CHANNELS or actual % others:
            continue
        has_one_size = any(actual % (expected // size) == 0 for size in target[1:] if size)
        # a single changed size, or an integer ratio, is a simpler explanation
        if has_one_size or expected % actual == 0:
            continue
        area = actual // others
        ratio = height / width
        sides = (
            [side for side in range(MIN_CHANNELS, isqrt(area) + 1) if area % side == 0]
            if area < MAX_FACTORED_AREA
            else []
        )
        pairs = [pair for side in sides for pair in ((side, area // side), (area // side, side))]
        close = [pair for pair in pairs if abs(pair[0] / pair[1] / ratio - 1) < ASPECT_TOLERANCE]
        for high, wide in close[:1]:
            yield Candidate(
                2,
                f"{actual} = {others}*{high}*{wide}",
                f"would be a map of {high}x{wide} where {height}x{width} is requested: another picture size",
                f"compute the {height} and the {width} from the input's own height and width",
            )


def _explain_square_mask(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by the square attention mask of a single sample.

    The count is not a multiple of the requested batch size.
    """
    side, target = isqrt(max(actual, 0)), context.target
    is_batched = len(target) == 2 and target[1] == -1 and target[0] > 1 and actual % target[0] != 0
    if is_batched and side * side == actual and side >= MIN_CHANNELS and MASK_WORDS.search(context.text):
        yield Candidate(
            1,
            f"{actual} = {side}*{side}",
            f"would be one square mask of {side} tokens, where {target[0]} samples are requested",
            "give each sample its mask: pad the samples to one length, and let the collate function build the masks",
        )


def _explain_positions(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a token count that exceeds the maximum sequence length of a text model."""
    small, large = sorted((actual, expected))
    if context.axis == 0 or context.is_features or large <= small + 1:
        return
    if small == TOKEN_POSITIONS[0] and large % small == 0:
        yield Candidate(
            1,
            f"{large} = {large // small}*{small}",
            f"would be a prompt of {large // small} chunks of {small} tokens, where the other has one",
            f"pad the shorter prompt to as many chunks, or cut the longer to {small} tokens",
        )
        return
    is_limit = (
        small >= MIN_LENGTH_LIMIT
        and _is_power_of_two(small)
        and large < MAX_LENGTH_RATIO * small
        and large % small != 0
        and large - small > MAX_SIDE_DIFFERENCE
        and not context.target
    )
    if is_limit and not POSITION_WORDS.search(context.text):
        yield Candidate(
            3,
            f"{large} = {small}+{large - small}",
            f"{small} is a usual maximum length: would be a sequence of {large} that was cut on one side only",
            f"cut both to {small}, or raise the maximum length on both sides",
        )
    elif small in TOKEN_POSITIONS and POSITION_WORDS.search(context.text):
        yield Candidate(
            1,
            f"{small} positions, {large} tokens",
            f"would be a text of {large} tokens, where the model has positions for {small}",
            f"cut the tokens to {small}, truncation=True, max_length={small}, or take a model with more positions",
        )


def _explain_stride(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sides of feature maps by rounding up to a multiple of a stride."""
    small, large = sorted((actual, expected))
    stride = large & -large
    while stride > 2 * (large - small):
        stride //= 2
    if (
        TOKEN_WORDS.search(context.text)
        or (context.axis or 0) < 2
        or small <= stride
        or not large - small < stride <= MAX_TOTAL_STRIDE
        or large - small < 2
    ):
        return
    yield Candidate(
        1,
        f"{large} = {stride}*{large // stride}, {small} = {large}-{large - small}",
        f"would be a side that was divided by {stride}, rounded up, and enlarged again",
        f"pad the picture until its sides are multiples of {stride} at this level, often of 32 at the input, "
        f"or cut the larger to {small}",
    )


def _explain_spectrum(actual: int, expected: int, _context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes by a signal and its Fourier spectrum."""
    small, large = sorted((actual, expected))
    if large % 2 == 0 and small == large // 2 + 1 and small > MIN_INFORMATIVE_SIZE:
        yield Candidate(
            1,
            f"{small} = {large}//2+1",
            f"would be the spectrum of {large} real samples, as rfft returns it",
            "give the spectrum where it is expected, and the samples where they are: two inputs may be swapped",
        )


def _explain_homogeneous(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain 3 and 4 features by homogeneous coordinates, or by a slice that is too short."""
    if context.is_features and {actual, expected} == {3, 4} and SLICE.search(context.text):
        yield Candidate(
            2,
            f"{actual} and {expected}",
            "would be a slice that ends behind the data, so that it is shorter than its bounds",
            "check that enough elements are left before the slice",
        )
    elif context.is_features and {actual, expected} == {3, 4} and not context.is_channel:
        yield Candidate(
            2,
            f"{actual} and {expected}",
            "would be points in space, with and without their homogeneous coordinate, or a slice that ended early",
            "append a 1 to each point, or take the 3x3 part of the matrix; if it was sliced, check the last slice",
        )


def _explain_rounding(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a height and a width near the requested ones."""
    target = context.target
    for axis in range(len(target) - 1):
        height, width = target[axis : axis + 2]
        others = prod(size for index, size in enumerate(target) if index not in (axis, axis + 1) and size != -1)
        if -1 in target or height * width < MIN_MAP_AREA or min(height, width) < MIN_CHANNELS:
            continue
        if others < 1 or actual % others:
            continue
        area = actual // others
        steps = range(-MAX_ROUNDING, MAX_ROUNDING + 1)
        for down, right in sorted(product(steps, repeat=2), key=lambda step: abs(step[0]) + abs(step[1])):
            if (height + down) * (width + right) != area or down * right < 0 or not (down or right):
                continue
            rest = [str(others)] if others > 1 else []
            rounded = "up on one side and down" if down + right > 0 else "down on one side and up"
            yield Candidate(
                1,
                f"{actual} = {'*'.join([*rest, str(height + down), str(width + right)])}",
                f"would be a map of {height + down}x{width + right} where {height}x{width} is requested: "
                f"rounded {rounded} on the other",
                "round both sides the same way: ceil on both, or floor on both, or pad the picture first",
            )
            break


def _explain_square_maps(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a square feature map of another size.

    Its side is near the requested one, or class and register tokens are added to the grid.
    """
    target = context.target
    for axis in range(len(target) - 1):
        side = target[axis]
        others = prod(size for index, size in enumerate(target) if index not in (axis, axis + 1) and size != -1)
        is_map = others >= MIN_CHANNELS or side >= MIN_LARGE_SIDE
        if side != target[axis + 1] or side < MIN_GRID_SIDE or not is_map or actual % others or -1 not in target:
            continue
        rest = actual // others
        near = [
            size for size in range(side - MAX_SIDE_DIFFERENCE, side + MAX_SIDE_DIFFERENCE + 1) if size not in (side, 0)
        ]
        sides = sorted((size for size in near if rest % (size * size) == 0), key=lambda size: abs(size - side))
        extra = rest - side * side
        if sides:
            yield Candidate(
                1,
                f"{actual} = {f'{others}*' if others > 1 else ''}{sides[0]}*{sides[0]}*{rest // sides[0] ** 2}",
                f"would be maps of {sides[0]}x{sides[0]} where {side}x{side} is requested: another padding or kernel",
                f"take the height and width of the tensor that is reshaped, or pad so that they are {side}: an even "
                "kernel loses one",
            )
        elif 0 < extra <= MAX_EXTRA_TOKENS and others >= MIN_CHANNELS:
            yield Candidate(
                1,
                f"{actual} = {others}*({side}*{side}+{extra})",
                f"{rest} tokens, {extra} more than the {side}x{side} grid: would be class or register tokens",
                f"cut exactly the tokens that the model adds before the grid: print the shape, {rest} are there",
            )


def _explain_adjacent_size(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a requested size that is off by one."""
    target = context.target
    known = [size for size in target if size > MIN_INFORMATIVE_SIZE]
    if target.count(-1) != 1 or not known:
        return
    found = []
    for size in dict.fromkeys(known):
        others = prod(known) // size
        found += [(size, near) for near in (size - 1, size + 1) if actual % (others * near) == 0]
    if len(found) == 1:
        size, near = found[0]
        rest = actual // (prod(item for item in target if item != -1) // size * near)
        factors = [str(near if item == size else rest if item == -1 else item) for item in target]
        yield Candidate(
            2,
            f"{actual} = {'*'.join(factors)}",
            f"would be {near} where {size} is requested: one frame, token or step more or less",
            f"compare the line that computes {size} with the data, which may have {near}, before you change either",
        )


def _explain_text_ratio(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes as the same multiple of two numbers that occur in the text."""
    if context.target or min(actual, expected) < 1 or not 2 <= len(context.numbers) <= MAX_TEXT_NUMBERS:
        return
    numbers = context.numbers - context.shape_sizes
    for one in sorted(numbers - {actual, expected}, reverse=True):
        times, remainder = divmod(actual, one)
        other = expected // times if times else 0
        if (
            not remainder
            and times > 1
            and other in numbers
            and other * times == expected
            and other not in (one, actual)
        ):
            yield Candidate(
                1,
                f"{actual} = {times}*{one}, {expected} = {times}*{other}",
                f"the text names {one} and {other}: would be inputs of length {one} for a model of length {other}",
                f"make the inputs {other} long, padded or cut, or build the model for {one}",
            )
            return


def _explain_latent_sides(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sides of latents by two sides of pictures in the text."""
    if context.target or (context.axis is not None and context.axis < 2) or min(actual, expected) < MIN_LATENT_SIDE:
        return
    scale = PIXELS_PER_LATENT
    printed = {int(side) for sides in IMAGE_SIZE.findall(context.text) for side in sides}
    pictures = [
        next((side for side in range(size * scale, (size + 1) * scale) if side in printed), 0)
        for size in (actual, expected)
    ]
    if 0 in pictures:
        return
    yield Candidate(
        0,
        f"{actual} = {pictures[0]}//{scale}, {expected} = {pictures[1]}//{scale}",
        f"latents are the picture / {scale}: would be latents of a side of {pictures[0]} and of {pictures[1]}",
        f"print the sizes of the picture, the mask and the output: one has a side of {pictures[0]}, another of "
        f"{pictures[1]}; set width and height to those of the picture, as multiples of {scale}, or resize all to one",
    )


def _explain_concatenated_widths(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two feature counts by a concatenated part of a different width.

    Both widths of the part are powers of two.
    """
    small, large = sorted((actual, expected))
    part = (large - small) & (small - large)  # the largest power of two that divides the difference
    rest, wide = small - part, large - small + part
    if not context.is_features or part < MIN_CONCATENATED_WIDTH or not _is_power_of_two(wide) or not 8 <= rest < part:
        return
    if _is_power_of_two(rest) and rest * 2 == part:
        return
    given, wanted = (part, wide) if actual == small else (wide, part)
    yield Candidate(
        1,
        f"{actual} = {given}+{rest}, {expected} = {wanted}+{rest}",
        f"would be {rest} joined to {given} channels, where {wanted} are expected: a layer between was left out, or "
        "another backbone",
        f"print the shapes of the parts that are joined: one has {given}, and {wanted} are expected; look for the "
        f"layer that makes {wanted} of {given}, as a pyramid pooling or a projection, and give the layer its output",
    )


def _explain_sum_with_setting(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a feature count as the sum of a setting and another number in the text."""
    if not context.is_features or context.axis is not None:
        return
    for name, digits in SETTING_VALUE.findall(context.text):
        part = int(digits)
        rest, given = expected - part, actual - (expected - part)
        if part > 1 and rest >= MIN_INFORMATIVE_SIZE and given > 0 and rest in context.numbers:
            yield Candidate(
                1,
                f"{expected} = {part}+{rest}, {actual} = {given}+{rest}",
                f"the text has {name} = {part} and {rest}: would be both joined, with {given} where {part} is set",
                f"set {name} to {given}, if the data has as many: print its shape",
            )
            return


def _explain_heads(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by grouped-query attention.

    In grouped-query attention, the keys have fewer heads than the queries.
    """
    target = context.target
    if len(target) != 4 or -1 in target or actual < 1 or expected % actual or target[-1] not in HEAD_DIMS:
        return
    times = expected // actual
    for axis in (2, 1):
        heads, remainder = divmod(target[axis], times)
        if not remainder and 1 < times < target[axis] <= MAX_HEADS:
            shape = (*target[:axis], heads, *target[axis + 1 :])
            are_grids = (
                target[-1] < MIN_LANGUAGE_HEAD_DIM and _grid_side(target[1]) > 0 and _grid_side(target[1] // times) > 0
            )
            yield Candidate(
                2 if are_grids else 1,
                f"{actual} = {'*'.join(map(str, shape))}",
                f"would be {heads} key heads where {target[axis]} heads are requested: grouped heads",
                f"write {','.join(map(str, shape))}",
            )
            return


def _explain_one_size(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by a different value of one requested size."""
    target, found = context.target, list[tuple[int, int, int]]()
    for axis, size in enumerate(target):
        others = prod(other for index, other in enumerate(target) if index != axis and other != -1)
        is_near = -1 not in target or actual // max(others, 1) <= MAX_INFERRED_RATIO * size
        if -1 in target and axis > target.index(-1) and actual % prod(target[target.index(-1) + 1 :]) == 0:
            continue  # the product of the dims after -1 divides the count, so the wrong dim is before it
        is_one_dim = actual == target[-1] and len(target) > 1  # the input has only the last requested dim
        if is_one_dim:
            return
        if axis > 0 and size > 1 and others > 1 and actual % others == 0 and (actual // others) % size and is_near:
            found.append((actual // others, axis, others))
    for needed, axis, _ in sorted(found)[:1]:
        rest = [str(size) for index, size in enumerate(target) if index != axis and size not in (1, -1)]
        if needed == 1:
            yield Candidate(
                3,
                f"{actual} = {'*'.join(rest)}",
                f"would be one block of {'x'.join(rest)} where {target[axis]} are requested",
                f"collect {target[axis]} of them before the reshape, or write 1 for the {target[axis]}",
            )
            return
        yield Candidate(
            3,
            f"{actual} = {'*'.join([str(needed), *rest])}",
            f"would make {needed}, and {target[axis]} is requested",
            f"find where the {target[axis]} is computed: with {needed} the counts would agree"
            + (", or a divisor of it" if -1 in target else ""),
        )


def _explain_last_batch(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a smaller batch size by the incomplete last batch of an epoch."""
    target = context.target
    sample = prod(target[1:]) if -1 not in target else 0
    samples, requested = (divmod(actual, sample)[0], target[0]) if target and sample else (actual, expected)
    if target and (not sample or actual % sample):
        return
    is_first = context.axis == 0 or bool(target)
    if (
        context.is_loader_independent
        or not is_first
        or not 0 < samples < requested
        or requested % samples == 0
        or len(target) == 1
    ):
        return
    is_stated = LOADER_WORDS.search(context.text) is not None
    sentence = f"{samples} samples where {requested} were configured: "
    yield Candidate(
        1 if is_stated else 3,
        f"{actual} = {samples}*{sample}" if target else f"{samples} < {requested}, at dim 0",
        sentence + ("would be the last batch of an epoch" if is_stated else "is it the last batch of an epoch?"),
        "write -1 for the batch, or pass drop_last=True to the loader",
    )


def _explain_classes(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes by class counts, or by class indices instead of one-hot labels."""
    if actual < 2 or expected < 2 or context.is_features or context.is_length:
        return
    is_loss = LABEL_WORDS.search(context.text) is not None
    is_rare = not {actual, expected} <= AMBIGUOUS_CLASS_COUNTS
    if {actual, expected} <= KNOWN_CLASS_COUNTS and (is_loss or (is_rare and context.axis in (1, -1))):
        yield Candidate(
            1 if is_loss else 2,
            f"{actual} and {expected} classes",
            "both are numbers of classes of well-known data sets: would be a head, or labels, of another data set",
            f"build the model for the classes of the labels: num_classes={actual} or {expected} on both sides",
        )
        return
    classes, labels = sorted((actual, expected))
    is_vector = is_loss and context.axis == 1 and context.is_channel is None  # no shape is known
    is_vector = is_vector and not (classes in IMAGE_CHANNELS and COLOUR_WORDS.search(context.text))
    if is_vector and classes not in ONE_HOT_CLASS_COUNTS and classes <= MAX_CLASSES < labels:
        yield Candidate(
            3,
            f"{classes} and {labels} at dim 1",
            f"would be scores of ({labels}, {classes}) beside {labels} class numbers, where one shape is expected",
            f"make the numbers one-hot, F.one_hot(target, {classes}).float(), or take a loss of class numbers",
        )
        return
    is_labels = expected in ONE_HOT_CLASS_COUNTS and _is_power_of_two(actual) and context.axis in (None, 1, -1)
    if is_labels or (is_loss and expected in ONE_HOT_CLASS_COUNTS and context.axis != 0):
        yield Candidate(
            2,
            f"{actual} labels, {expected} classes",
            f"would be {actual} class numbers where one-hot labels of {expected} classes are expected",
            f"make them one-hot, F.one_hot(labels, {expected}), or use a loss that takes class numbers",
        )


def _explain_map_levels(small: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sides of feature maps, one of them twice the other, by two levels of a network.

    `small` is the smaller side.
    """
    if small >= MIN_CHANNELS and LEVEL_WORDS.search(context.text) and context.is_loader_independent:
        yield Candidate(
            2,
            f"{2 * small} = 2*{small}",
            "one map has twice the side of the other: would be two levels of the network, one stride of 2 apart",
            "join maps of the same level: check the picture size, the patch size and the number of upsamplings",
        )
    elif (
        MIN_CHANNELS <= small <= MAX_LEVEL_SIDE
        and (context.axis or 0) > 1
        and not TOKEN_WORDS.search(context.text)
        and not _are_channels_last(small, context)
    ):
        yield Candidate(
            3,
            f"{2 * small} = 2*{small}",
            "if these are maps, one has twice the side of the other: would be one stride or upsampling of 2 apart",
            "give both the same strides, or take maps of one level",
        )


def _are_channels_last(small: int, context: MismatchContext) -> bool:
    """Return whether the sizes at axis 2 may be channels, since all other dims of the shapes are far smaller."""
    others = context.shape_sizes - {small, 2 * small}
    return context.axis == 2 and bool(others) and CHANNELS_TO_SIDE * max(others) < small


def _explain_ratio(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes of which one is an integer multiple of the other."""
    small, large = sorted((actual, expected))
    if small < 1 or large % small or context.is_length:
        return
    times = large // small
    if context.axis == 0 and small > 1 and times <= MAX_BATCH_RATIO and not POSITION_WORDS.search(context.text):
        yield Candidate(
            2,
            f"{large} = {times}*{small}, at dim 0",
            f"one batch is {times} times the other: would be beams, samples or frames, repeated on one side only, or "
            "a smaller last batch",
            f"find the line that makes {large} of {small}: a repeat, or windows, frames or beams folded into the "
            f"batch; for a last batch, take x.size(0) in place of a fixed {large}, or drop_last=True",
        )
        return
    if context.is_features and context.axis != 1:
        return
    if context.is_features and times <= MAX_CONCATENATED and 2 < small <= MAX_CHANNELS:
        given = "where one is expected" if large == actual else "where one is given"
        yield Candidate(
            2,
            f"{large} = {times}*{small}",
            f"would be {times} inputs of {small}, joined along their features, {given}: frames, or data and a mask",
            f"join the {times} inputs, torch.cat((a, b), 1), or build the layer for {actual}"
            if large == expected
            else f"give the layer one of the {times} inputs, or build it for {actual}",
        )
        return
    levels = [] if times != 2 else [*_explain_map_levels(small, context)]
    if levels:
        yield from levels
        return
    is_half = times == 2 and context.axis == 1 and small % MIN_MAP_CHANNELS == 0
    is_known = small >= MIN_CHANNELS and 2 <= times <= (MAX_RATIO if small < MIN_DISTINCTIVE_SIZE else MAX_CHANNELS)
    if not is_known or not (is_half or _odd_part(small) >= MIN_ODD_PART):
        return
    if is_half:
        yield Candidate(
            3,
            f"{large} = 2*{small}",
            "twice as many at dim 1: would be two inputs that were joined on one side, or weights of another version",
            f"find the line that joins inputs to {large}, or that makes {small}",
        )
        return
    general = f"{times} times as many: one row became {times}" if large == expected else f"{times} times as many"
    yield Candidate(
        3,
        f"{large} = {times}*{small}",
        RATIO_SENTENCES.get(times, general),
        f"find what makes {times} of one: a repeat, a reshape that takes in another axis, or a stack",
    )


def _explain_shared_factor(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain two sizes by a large common factor that is not a power of two."""
    common = gcd(actual, expected)
    cofactors = (actual // common, expected // common) if common else (0, 0)
    if (
        context.target
        or context.is_features
        or context.is_length
        or common < MIN_SHARED_FACTOR
        or _odd_part(common) < MIN_ODD_PART
        or not 1 < min(cofactors) <= max(cofactors)
    ):
        return
    if max(cofactors) > min(MAX_COFACTOR, common):
        return
    yield Candidate(
        3,
        f"{actual} = {common}*{cofactors[0]}, {expected} = {common}*{cofactors[1]}",
        f"both are multiples of {common}: would be one side of a grid, or a multiple of it, that both share",
        f"look for the side that is {cofactors[0]} on one tensor and {cofactors[1]} on the other",
    )


def _explain_difference(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a difference by a number in the text, or by a mask that lacks tokens."""
    small, large = sorted((actual, expected))
    rest = large - small
    is_printed = rest in context.numbers - {small, large} and rest >= MIN_INFORMATIVE_SIZE
    is_token_count = (
        (context.axis or 0) < 2 and rest >= MIN_INFORMATIVE_SIZE and large < 1 << 17 and large % max(small, 1) != 0
    )
    is_mask = is_token_count and MASK_WORDS.search(context.text) is not None
    is_limit = small in TOKEN_POSITIONS and POSITION_WORDS.search(context.text) is not None
    if context.is_features or rest < 2 or context.target or is_limit or not (is_printed or is_mask):
        return
    if not is_printed and small in IMAGE_CHANNELS and context.axis == 1:
        return
    what = "which the text names" if is_printed else "such as image tokens that the mask lacks"
    yield Candidate(
        2 if is_printed else 3,
        f"{large} = {small}+{rest}",
        f"{rest} are missing on one side: would be a part that was not joined, {what}",
        f"find the {rest} that the side of {small} lacks; if they belong there, join them, and pad a mask with a value "
        "for them",
    )


def _explain_single_row(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a batch of one row by a vector that was interpreted as one sample."""
    small, large = sorted((actual, expected))
    if (
        context.is_length
        and small == 1
        and large > 1
        and FIT_WORDS.search(context.text)
        and not METRIC_WORDS.search(context.text)
    ):
        yield Candidate(
            1,
            f"1 and {large} rows",
            "one side has a single row: would be a vector that was taken for one sample, or a list around an array",
            f"make a column of {large} rows, x.reshape(-1, 1), or drop the list around the array",
        )


def _explain_loss_batch(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a mismatch between the number of predictions and the number of targets."""
    if not context.is_loss or min(actual, expected) < 1:
        return
    times, remainder = divmod(max(actual, expected), min(actual, expected))
    side = isqrt(times)
    if remainder:
        small, large = sorted((actual, expected))
        step = large - small
        arithmetic = f"{large} = {small}+{step}"
        longer = "predictions" if large == actual else "targets"
        text = (
            f"{step} {longer} more: would be a batch, or sequences, that were cut, split or filtered on one side only"
        )
        cut = "fill missing labels with -100, or cut the predictions" if large == actual else "cut or shift the targets"
        advice = f"print both shapes before the loss, and treat both sides alike; for sequences, {cut}"
    elif actual > expected and side >= 3 and side * side == times:
        text = f"would be a map of {side}x{side} for each target, flattened into the batch"
        advice, arithmetic = "pool the map to 1x1, and flatten with the batch kept: x.flatten(1)", ""
    elif actual > expected:
        text = (
            f"{times} predictions for each target: would be steps, tokens or inputs, flattened into the batch, or a "
            "view(-1, n) whose n is too small"
        )
        each = (
            f"give a label for each of the {actual} predictions" if expected == 1 else "give each prediction its target"
        )
        advice, arithmetic = f"{each}, or flatten with the batch kept: x.flatten(1)", ""
    else:
        text = f"{times} targets for each prediction: would be labels of tokens, steps or classes that were flattened"
        advice, arithmetic = "keep the batch of the labels; one-hot labels become numbers with labels.argmax(1)", ""
    product = f"{side}*{side}" if side >= 3 and side * side == times else str(times)
    equation = f"{max(actual, expected)} = {min(actual, expected)}*{product}"
    yield Candidate(1, arithmetic or equation, text, advice)


def _explain_scalar(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count of 1 by a reduction, or by an array of one object."""
    if actual == 1 and prod(size for size in context.target if size != -1) >= MIN_CHANNELS:
        yield Candidate(
            1,
            "1 element",
            "would be the result of a mean or a sum, or a list or string that was stored as a single object",
            "print the value and its type; a stored list: np.array(x.item()), a string: json.loads, arrays: np.stack",
        )


def _explain_confusion_matrix(actual: int, _expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain the size of a confusion matrix by labels that are out of range."""
    target = context.target
    if len(target) == 2 and target[0] == target[1] > 1 and CONFUSION_WORDS.search(context.text):
        classes = target[0]
        yield Candidate(
            1,
            f"{actual} counts, {classes * classes} = {classes}*{classes}",
            f"would be labels outside 0 to {classes - 1}: bincount returns a count for each value up to its largest",
            f"keep the labels below {classes}, and pass minlength={classes * classes} to bincount",
        )


def _explain_image_size(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain an element count by an image that does not have the requested size."""
    side = isqrt(max(expected, 0))
    is_area = bool(context.target) and -1 not in context.target and side * side == expected
    is_picture = is_area and side >= MIN_IMAGE_SIDE and PICTURE_WORDS.search(context.text) is not None
    if is_picture and len(context.target) < 3 and expected < actual and actual % expected:
        yield Candidate(
            1,
            f"{expected} = {side}*{side}",
            f"would be a picture of {side}x{side}, where the input is one of another size",
            f"resize or crop the picture to {side}x{side} before, or reshape to its own height and width",
        )


def _explain_multiple(actual: int, expected: int, context: MismatchContext) -> Iterator[Candidate]:
    """Explain a size that is not a multiple of the required divisor."""
    if not context.is_divisor or expected < 2 or actual < expected or actual % expected == 0:
        return
    down, up = actual - actual % expected, actual + -actual % expected
    yield Candidate(
        1,
        f"{actual} = {actual // expected}*{expected}+{actual % expected}",
        f"{actual} is not a multiple of {expected}: {down} and {up} are",
        f"pad it to {up}, or cut it to {down}"
        if actual > MAX_IMAGE_CHANNELS
        else f"find why {actual} come, as many as the channels of a picture, where a multiple of {expected} is meant",
    )


def _grid_side(count: int) -> int:
    """Return the side of a square grid of `count` patches, or 0 if there is none."""
    side = isqrt(max(count, 0))
    return side if side * side == count and side >= MIN_GRID_SIDE else 0


def _format_grid(side: int, tokens: int) -> str:
    square = f"{side}*{side}"
    return square if tokens == 0 else f"{square}+1" if tokens == 1 else f"{tokens}+{square}"


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _odd_part(number: int) -> int:
    return number // (number & -number) if number else 0


LOSS_KINDS = ("empty", "loss-batch")
"""The kinds of explanations for a mismatch between predictions and targets."""
KINDS: dict[str, CandidateSearch] = {
    "empty": _explain_empty,
    "multiple": _explain_multiple,
    "loss-batch": _explain_loss_batch,
    "scalar": _explain_scalar,
    "single-row": _explain_single_row,
    "confusion": _explain_confusion_matrix,
    "picture": _explain_image_size,
    "channels": _explain_channels,
    "homogeneous": _explain_homogeneous,
    "spectrum": _explain_spectrum,
    "one-more": _explain_off_by_one,
    "counted-twice": _explain_counted_twice,
    "digits": _explain_swapped_digits,
    "rounding": _explain_rounding,
    "side": _explain_square_maps,
    "neighbour": _explain_adjacent_size,
    "latent-sides": _explain_latent_sides,
    "joined-widths": _explain_concatenated_widths,
    "text-ratio": _explain_text_ratio,
    "setting": _explain_sum_with_setting,
    "stride": _explain_stride,
    "last-batch": _explain_last_batch,
    "pyramids": _explain_pyramids,
    "squares": _explain_squares,
    "cubes": _explain_cubes,
    "maps": _explain_feature_maps,
    "flat-pictures": _explain_flattened_images,
    "classes": _explain_classes,
    "encoder": _explain_encoder,
    "pixels": _explain_pixels,
    "prompts": _explain_prompts,
    "groups": _explain_groups,
    "boxes": _explain_box_fields,
    "floored": _explain_floored_size,
    "latents": _explain_latents,
    "positions": _explain_positions,
    "map": _explain_resized_map,
    "square-mask": _explain_square_mask,
    "heads": _explain_heads,
    "difference": _explain_difference,
    "one-size": _explain_one_size,
    "ratio": _explain_ratio,
    "shared-factor": _explain_shared_factor,
}
"""The functions that yield candidate explanations, by kind.

Of two equally likely explanations, the one of the earlier kind comes first.
"""
