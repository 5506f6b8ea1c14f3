"""Advice for weights of a checkpoint that do not fit the model.

A checkpoint cannot be changed, so the advice is another configuration of the model, or another checkpoint. The name of
the weight and the mismatching axis identify the setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import prod

from shapecalc.core.record import Record
from shapecalc.diagnosis.known_sizes import CLASSES, VOCABULARIES
from shapecalc.diagnosis.match import format_sizes
from shapecalc.diagnosis.reading import ParsedMessage
from shapecalc.diagnosis.suggestions import numeric_sizes, unequal_axes

WEIGHT_NAME = re.compile(r"(?:size mismatch for |tensor '|for parameter \"|with shape \(')([\w.]+)")
"""The name of a weight in a message of PyTorch, llama.cpp or Flax."""
KERNEL_NAME = re.compile(r"kernel$")
"""The name of a weight matrix in Flax."""
KEY_WEIGHT = re.compile(r"attn_[kv]\b|attention\.w[kv]\b")
"""The name of the projection to keys or values in a GGUF file (the naming of llama.cpp)."""
POSITION_WEIGHT = re.compile(r"(?i)pos(?:ition)?(?:al)?_?(?:emb|enc|bias|ids)|wpe|relative_position")
VOCABULARY_WEIGHT = re.compile(
    r"(?i)(?:tok|word|tgt|src|text)\w*_?emb|embed_tokens|lm_head|shared\.|wte|vocab|lut\.|logit\."
)
EMBEDDING_WEIGHT = re.compile(r"(?i)emb(?:ed(?:ding)?s?)?\w*\.weight$")
CLASS_WEIGHT = re.compile(
    r"(?i)^(?:(?!\.\d+\.).)*?(?:^|[._])(?:classifier|head|fc\d?|cls\w*|last_linear|predictor|output|logits)\b"
)
"""The name of a weight with one row per class; names of numbered blocks are excluded."""
LORA_RANK_AXIS = {"A": 0, "down": 0, "B": 1, "up": 1}
"""The axis of the rank in a weight of an adapter (LoraLayer of PEFT, lora_down and lora_up of diffusers)."""
LORA_WEIGHT = re.compile(r"lora_(?:embedding_)?(A|B|down|up)\b")
MAX_CLASSES = 25_000
"""The maximum size that may be a number of classes."""
RESNET_BLOCK = re.compile(r"layer\d+\.\d+\.conv\d")
"""The name of a convolution in a block of a ResNet."""
MANY_LAYERS = 3
"""The minimum number of mismatching layers that suggests another configuration of the whole model."""
INPUT_CHANNELS = frozenset({1, 2, 3, 4, 5, 6, 8, 9, 12, 16})
"""The usual numbers of input channels of a first layer."""
DROP_STEP = "strict=False does not skip them: to leave them out, delete them from the state dict before it is loaded"
PACKED_STEP = (
    "({saved}) are half as many values as ({shape}): the file is packed in 4 bits, and the program reads this layer "
    "unpacked: name the quantization to it, as --quantization bitsandbytes, update it, or take the original weights"
)
LOSS_CODE = re.compile(r"(?i)loss|label|softmaxoutput")
"""A loss or a label in code or in the name of a node."""
PARALLEL_WEIGHT = re.compile(r"(?i)layers?\.\d+\.(?:\w+\.)*\w*(?:attn|attention|mlp|proj)")
"""The name of a matrix in a block of a language model."""
PARALLEL_LOADER = ("attempted to load weight", "tried to load weights of size")
"""The words of vLLM and SGLang for a mismatching weight."""
PARALLEL_STEP = (
    "the file has ({saved}), and this part of the model ({shape}): compare config.json with the file; if it is "
    "quantized or of an adapter, name its format to the program; if the weights are split over GPUs, try "
    "--tensor-parallel-size 1; if the vocabulary is padded or has new tokens, save the model after "
    "resize_token_embeddings; and take a version of the program that supports this model"
)
FLAX = ("flax", "jax")


class Weights(Record):
    """A weight that has different shapes in the checkpoint and in the model."""

    name: str
    saved: tuple[int, ...]
    """The shape in the checkpoint."""
    built: tuple[int, ...]
    """The shape in the model."""
    count: int
    """The number of layers with a mismatch."""
    framework: str
    code: str = ""
    """The failing line of the user's code, and the name of the node."""

    @property
    def axes(self) -> list[int]:
        """The axes along which the shapes differ, if their ranks are equal."""
        return unequal_axes(self.saved, self.built) if len(self.saved) == len(self.built) else []

    @property
    def sizes(self) -> tuple[int, int]:
        """The sizes of the first differing axis: in the checkpoint and in the model."""
        axes = self.axes
        return (self.saved[axes[0]], self.built[axes[0]]) if axes else (0, 0)

    @property
    def layer(self) -> str:
        """The name of the layer, such as `encoder.fc` for `encoder.fc.weight`."""
        return self.name.rpartition(".")[0] or self.name or "the layer"


def _failing_code_and_node(message: ParsedMessage) -> str:
    """Return the failing line of code and the node name of a message."""
    return f"{message.failing_line.text if message.failing_line else ''} {message.node or ''}"


class WeightStep(Record):
    """A step for mismatching weights, with the condition under which it applies."""

    applies: Callable[[Weights], bool]
    text: str
    """The template of the step; `{one}` is the size in the checkpoint, `{two}` the size in the model."""


def iter_weight_steps(message: ParsedMessage) -> Iterator[str]:
    """Yield advice for weights that do not fit the model, the likeliest first."""
    names = [name.rpartition(".")[0] for name in WEIGHT_NAME.findall(message.text)]
    match = WEIGHT_NAME.search(message.quote)
    name = match[1] if match else ""
    saved, built = numeric_sizes(message.input), numeric_sizes((message.operands or ((),))[0])
    if message.framework == "llama.cpp" and {*saved[len(built) :]} <= {1}:
        saved = saved[: len(built)]  # llama.cpp prints the saved shape with trailing dims of 1
    weights = Weights(name, saved, built, len({*names}), message.framework or "", _failing_code_and_node(message))
    one, two = weights.sizes
    values = {"one": one, "two": two, "count": weights.count, "layer": weights.layer, "name": name}
    values |= {"axis": (weights.axes or [0])[0], "moved": format_sizes((*saved[2:], *saved[1::-1]))}
    values |= {"saved": format_sizes(saved), "times": two // one if one and two % one == 0 else 0}
    values |= {"one_model": VOCABULARIES.get(one, ""), "two_model": VOCABULARIES.get(two, "")}
    values |= {"shards": _shard_count(weights)}
    values |= {"built_last": built[-1] if built else 0, "shape": ", ".join(map(str, built))}
    row = next((row for row in STEPS if row.applies(weights)), None)
    is_runner = any(words in message.quote.lower() for words in PARALLEL_LOADER)
    if is_runner and saved and 2 * prod(saved) == prod(built):
        yield PACKED_STEP.format(**values)
    elif is_runner:
        yield PARALLEL_STEP.format(**values)
    elif row is not None:
        yield row.text.format(**values)
    if weights.framework == "torch" and not is_runner and weights.built != (0,):
        yield DROP_STEP


def _has_kernel_last(weights: Weights) -> bool:
    saved, built = weights.saved, weights.built
    return len(saved) == len(built) == 4 and saved[:2] != saved[2:] and saved[2:] == built[:2] and saved[2] == saved[3]


def _is_transposed_kernel(weights: Weights) -> bool:
    """Return whether Keras transposed the saved kernel, and only its output channels differ."""
    saved, built = weights.saved, weights.built
    is_turned = len(saved) == len(built) == 4 and (*saved[2:], saved[1]) == built[:3] and saved[0] != built[3]
    return weights.framework == "keras" and is_turned


def _is_vocabulary(weights: Weights) -> bool:
    return _is_named(VOCABULARY_WEIGHT, weights) and weights.axes == [0]


def _differs_along_flax_axis(axis: int) -> Callable[[Weights], bool]:
    """Return a predicate for Flax kernels that differ only along the negative axis `axis`."""
    return lambda weights: (
        weights.framework in FLAX
        and len(weights.saved) > 1
        and weights.axes == [len(weights.saved) + axis]
        and (KERNEL_NAME.search(weights.name) is not None or not weights.name)
    )


def _is_linear_convolution(weights: Weights) -> bool:
    saved, built = weights.saved, weights.built
    return len(saved) > 1 and saved[:2] == built[:2] and {saved[2:], built[2:]} == {(), (1, 1)}


def _is_named(pattern: re.Pattern[str], weights: Weights) -> bool:
    return pattern.search(weights.name) is not None and bool(weights.axes)


def _differs_in_unit_dims(weights: Weights) -> bool:
    """Return whether the shapes differ only by dims of 1."""
    saved, built = ([size for size in shape if size != 1] for shape in (weights.saved, weights.built))
    return saved == built and weights.saved != weights.built


def _is_class_head(weights: Weights) -> bool:
    """Return whether a kernel of TensorFlow or Keras differs in a probable number of classes."""
    is_last = weights.framework in ("tensorflow", "keras") and weights.axes == [len(weights.saved) - 1]
    return is_last and max(weights.sizes) <= MAX_CLASSES and any(size in CLASSES or size < 10 for size in weights.sizes)


def _is_lora_rank(weights: Weights) -> bool:
    """Return whether the ranks of two adapters differ."""
    match = LORA_WEIGHT.search(weights.name)
    return match is not None and weights.axes[:1] == [LORA_RANK_AXIS[match[1]]]


def _is_other_resnet_block(weights: Weights) -> bool:
    """Return whether a ResNet convolution is 1x1 in the checkpoint and 3x3 in the model, or vice versa."""
    kernels = {shape[2:] for shape in (weights.saved, weights.built)}
    return kernels == {(1, 1), (3, 3)} and RESNET_BLOCK.search(weights.name) is not None


def _shard_count(weights: Weights) -> int:
    """Return the rounded ratio of model sizes to saved sizes, or 0 if it varies by axis."""
    pairs = [(weights.saved[axis], weights.built[axis]) for axis in weights.axes]
    times = {round(built / saved) if saved else 0 for saved, built in pairs}
    return times.pop() if len(times) == 1 and all(built > saved for saved, built in pairs) else 0


def _are_shards(weights: Weights) -> bool:
    """Return whether the saved weights may be shards of tensor parallelism."""
    is_parallel = PARALLEL_WEIGHT.search(weights.name) is not None and weights.axes == [0, 1]
    return is_parallel and _shard_count(weights) in (2, 4, 8, 16)


def _has_moved_end_axis(weights: Weights) -> bool:
    """Return whether the model has the first axis of a saved 3-D kernel last, or the last axis first."""
    saved, built = weights.saved, weights.built
    return (
        len(saved) == len(built) == 5 and saved != built and built in ((*saved[1:], saved[0]), (saved[-1], *saved[:-1]))
    )


STEPS = (
    WeightStep(
        _has_moved_end_axis,
        "both have the same sizes in another order, as kernels of spconv 1 and 2: take the version of the library that "
        "wrote the checkpoint, or transpose all such kernels, after a look at how each version orders them; a reshape "
        "would mix the values",
    ),
    WeightStep(
        lambda weights: weights.framework == "torch" and weights.built == (0,),
        "the model's weights are empty, (0): if it runs with DeepSpeed ZeRO-3, its weights are spread over the GPUs "
        "while it is built: load the checkpoint before deepspeed.initialize, within deepspeed.zero.GatheredParameters, "
        "or by from_pretrained with the ZeRO-3 configuration set; otherwise print the setting that makes them empty",
    ),
    WeightStep(
        _are_shards,
        "the model has {shards} times the size of the checkpoint along each axis: if the checkpoint was written with "
        "tensor parallelism, this file is one of {shards} parts: merge them, or load it with as many GPUs; if not, it "
        "is of a smaller model: build the model with the configuration saved with it",
    ),
    WeightStep(
        lambda weights: (
            KEY_WEIGHT.search(weights.name) is not None
            and 0 < weights.sizes[0] < weights.sizes[1]
            and weights.sizes[1] % weights.sizes[0] == 0
        ),
        "{two} = {times}*{one}, as with grouped query attention, where {times} query heads share a key head: if so, "
        "the file lacks attention.head_count_kv, or names another architecture: convert the original model again with "
        "convert_hf_to_gguf.py of this version, or take another GGUF file of it",
    ),
    WeightStep(
        lambda weights: weights.framework == "llama.cpp" and bool(weights.axes),
        "{name} has {one} in the file where {two} is expected: update llama.cpp and convert the original model again "
        "with its convert_hf_to_gguf.py, so that file and loader have one architecture; print the metadata of the "
        "file, gguf-dump FILE",
    ),
    WeightStep(
        lambda weights: (
            weights.framework in FLAX and weights.saved[:-1] == (1, 1, 1) and weights.built == weights.saved[-1:]
        ),
        "only dims of 1 differ: reshape the saved one, x.reshape({shape}), and those of all such layers, "
        "jax.tree_util.tree_map(jnp.squeeze, params) if none needs its dims of 1; or take the version of flax that "
        "wrote them: before 0.3.6, GroupNorm saved (1, 1, 1, C)",
    ),
    WeightStep(
        _is_class_head,
        "the last dim of {layer}, which may count classes, is {one} in the checkpoint and {two} in the model: if so, "
        "leave this layer out when you restore, as by --checkpoint_exclude_scopes or exclude=[...], and train it "
        "anew; or build the model with {one}",
    ),
    WeightStep(
        _is_other_resnet_block,
        "a ResNet's block begins with a 1x1 convolution if it is a Bottleneck, and with 3x3 if it is a BasicBlock: "
        "build the model with the block of the checkpoint, whose {layer} is ({saved}), and with its depth",
    ),
    WeightStep(
        lambda weights: (
            weights.framework == "mxnet" and bool(weights.axes) and LOSS_CODE.search(weights.code) is not None
        ),
        "print(output.shape, label.shape): the loss takes labels of ({shape}), and ({saved}) are given: for one-hot "
        "labels, SoftmaxCrossEntropyLoss(sparse_label=False), or labels.argmax(axis=1); otherwise give one label a "
        "sample",
    ),
    WeightStep(
        lambda weights: weights.framework == "mxnet" and bool(weights.axes),
        "print(x.shape): if it is a label or a second input, compare it with the size that follows, {two}, as after a "
        "change of the picture size; if it is a parameter, it has {one}, and {two} follow from the input: "
        "if it is pretrained or loaded, give the input the size and the channels of its training; if you train it, "
        "leave its in_channels or in_units out, so that they are inferred",
    ),
    WeightStep(
        _is_transposed_kernel,
        "the saved kernel makes {one} channels, the model's {built_last}: if this is the last layer, these follow from "
        "the number of classes, as 3*(classes+5) of a YOLO: build the model with the classes of these weights, or "
        "train this layer anew; the order of the axes is not the cause, Keras may turn a kernel that does not fit",
    ),
    WeightStep(
        _has_kernel_last,
        "the saved kernel has the channels first, the model has them last: set the data format, or transpose it, "
        "w.transpose(2, 3, 1, 0), to {moved}",
    ),
    WeightStep(
        _differs_along_flax_axis(-1),
        "the layer has {one} outputs in the parameters and {two} in the model: build the model with {one}, as its "
        "configuration, actions or classes were at that time, or load the parameters of this model",
    ),
    WeightStep(
        _differs_along_flax_axis(-2),
        "the layer read {one} features when the parameters were made and reads {two} now: compare the configuration, "
        "and give init and apply the same inputs",
    ),
    WeightStep(
        _is_linear_convolution,
        "one has a linear layer where the other has a 1x1 convolution: load it into its own version of the model",
    ),
    WeightStep(
        _differs_in_unit_dims,
        "only dims of 1 differ, so the sizes are right: reshape the saved one, x.reshape({shape}), or take the version "
        "of the library or of the code that wrote the checkpoint",
    ),
    WeightStep(
        lambda weights: _is_named(POSITION_WEIGHT, weights),
        "build the model for the picture size or length of the checkpoint, {one} positions, or interpolate the "
        "position embedding",
    ),
    WeightStep(
        _is_lora_rank,
        "the adapter was trained with rank {one}, and is loaded into one of rank {two}: build it with {one}, r in "
        "adapter_config.json of PEFT, ss_network_dim in the metadata of a kohya file",
    ),
    WeightStep(
        lambda weights: "lora_" in weights.name and bool(weights.axes),
        "the adapter has {one} where the model takes {two}: take the base model that it was trained on, named in "
        "adapter_config.json of PEFT, in the metadata of a kohya file",
    ),
    WeightStep(
        lambda weights: _is_vocabulary(weights) and {*weights.sizes} <= {*VOCABULARIES},
        "{one} tokens are the vocabulary of {one_model}, {two} of {two_model}: build model and tokenizer by the name "
        "of the model from which the checkpoint was trained, {one_model}",
    ),
    WeightStep(
        _is_vocabulary,
        "the vocabularies differ: take the base model and the tokenizer from which the checkpoint was trained; if "
        "tokens were added to that one, call model.resize_token_embeddings({one}) before loading",
    ),
    WeightStep(
        lambda weights: _is_named(EMBEDDING_WEIGHT, weights) and weights.axes == [0],
        "{layer} has {one} rows in the checkpoint and {two} in the model, one for each symbol, word or id: take the "
        "list of symbols, or the data set, with which the checkpoint was trained",
    ),
    WeightStep(
        lambda weights: _is_named(CLASS_WEIGHT, weights) and weights.axes == [0] and max(weights.sizes) <= MAX_CLASSES,
        "if {layer} is the last layer, build the model with num_classes={one}, load, and then replace it by one of "
        "{two} classes; in Transformers, from_pretrained(..., num_labels={two}, ignore_mismatched_sizes=True) makes a "
        "new one",
    ),
    WeightStep(
        lambda weights: len(weights.saved) > 2 and weights.axes == [1] and {*weights.sizes} <= INPUT_CHANNELS,
        "dim 1 of {layer} counts input channels, {one} in the checkpoint and {two} in the model: build the model with "
        "in_channels={one}; of a transposed convolution, it counts the outputs",
    ),
    WeightStep(
        lambda weights: weights.count >= MANY_LAYERS and bool(weights.axes),
        "at least {count} layers differ, so the model is built with another configuration: take the one that was saved "
        "with the checkpoint; dim {axis} of {layer} is {one} in it, and {two} here",
    ),
    WeightStep(
        lambda weights: (
            len(weights.saved) > 2
            and bool(weights.axes)
            and weights.axes[0] >= 2
            and weights.framework not in (*FLAX, "tensorflow", "keras")
        ),
        "the kernels differ, {one} and {two}: take the version of the code that wrote the checkpoint",
    ),
    WeightStep(
        lambda weights: (
            weights.framework in ("tensorflow", "keras", "tinygrad", "mlx", "llama.cpp") and bool(weights.axes)
        ),
        "the checkpoint has {one} where the model has {two}: build the model with the configuration file of this "
        "checkpoint, or load the checkpoint of this model",
    ),
    WeightStep(
        lambda weights: bool(weights.axes),
        "dim {axis} of {layer} is {one} in the checkpoint and {two} in the model: print the setting that makes it, and "
        "build the model with {one}, or take the version of the code that wrote the checkpoint",
    ),
)
"""The steps in order of priority; only the first that applies is yielded."""
