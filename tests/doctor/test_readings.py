"""Messages of the forms that runtimes print, and what they mean; then the same in every decoration."""

from __future__ import annotations

import html
import itertools
import json
import re
import textwrap

import pytest

from shapecalc.doctor.reading import readings
from shapecalc.doctor.report import advice

HELD = ("input", "elements", "target", "target_elements", "perm", "axes", "operands", "node")
FRAME = '  File "/srv/models/head.py", line 12, in forward\n    {}\n'
ORT = "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : "
MESSAGES = {
    "torch count": (
        "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600",
        *("torch", "reshape", "count-mismatch", {"elements": 1600, "target": (8, 3, 64)}),
    ),
    "torch with a name for the count": (
        "RuntimeError: shape '[8, 3]' is invalid for input of size 24*s0",
        *("torch", "reshape", "count-mismatch", {"target": (8, 3)}),
    ),
    "torch expand": (
        "RuntimeError: The expanded size of the tensor (7) must match the existing size (6) at non-singleton "
        "dimension 1.  Target sizes: [5, 7].  Tensor sizes: [6]",
        *("torch", "expand", "not-broadcastable", {"input": (6,), "target": (5, 7)}),
    ),
    "numpy hides a leading -1 that the code shows": (
        FRAME.format("x = x.reshape(-1, 7, 9)") + "ValueError: cannot reshape array of size 100 into shape (7,9)",
        *("numpy", "reshape", "indivisible", {"elements": 100, "target": (-1, 7, 9)}),
    ),
    "numpy hides a leading -1 that the counts prove": (
        "ValueError: cannot reshape array of size 0 into shape (0,4)",
        *("numpy", "reshape", "infer-with-empty", {"elements": 0, "target": (-1, 0, 4)}),
    ),
    "the code of a frame is no part of the message": (
        FRAME.format("x = x.transpose(0, 3, 1, 2)") + "ValueError: axes don't match array",
        *("numpy", "transpose", "bad-perm", {}),
    ),
    "a hard-coded batch": (
        ORT + "Non-zero status code returned while running Reshape node. Name:'/head/Reshape_2' Status Message: "
        "reshape_helper.h:45 input_shape_size == size was false. The input tensor cannot be reshaped to the requested "
        "shape. Input shape:{4,18,5,5}, requested shape:{1,2,9,5,5}",
        *("onnxruntime", "reshape", "hard-coded-batch"),
        {"input": (4, 18, 5, 5), "target": (1, 2, 9, 5, 5), "node": "/head/Reshape_2"},
    ),
    "the end of a message, of which the sentence is missing": (
        "Input shape:{4,197,768}, requested shape:{1,197,12,64}",
        *("onnxruntime", "reshape", "hard-coded-batch", {"input": (4, 197, 768), "target": (1, 197, 12, 64)}),
    ),
    "an unknown size of a model is printed as 0": (
        ORT
        + "Node (tr_9) Op (Transpose) [TypeInferenceError] Invalid attribute perm {0, 4, 1}, input shape = {0, 7, 0}",
        *("onnxruntime", "transpose", "bad-perm", {"input": ("?", 7, "?"), "perm": (0, 4, 1), "node": "tr_9"}),
    ),
    "TensorRT": (
        "[05/06/2024-07:08:09] [E] Error[4]: IShuffleLayer Reshape_5: reshape changes volume. "
        "Reshaping [6,10] to [7,5].",
        *("tensorrt", "shuffle", "count-mismatch", {"input": (6, 10), "target": (7, 5), "node": "Reshape_5"}),
    ),
    "a squeeze that TensorRT calls a reshape": (
        "[TRT] [E] (IShuffleLayer sq_3: reshape changes volume. Reshaping [1,6,10] to [1,10].)\n"
        '[TRT] [E] While parsing node number 41 [Squeeze -> "out"]:',
        *("tensorrt", "squeeze", "not-one", {"input": (1, 6, 10), "target": (1, 10), "node": "sq_3"}),
    ),
    "the shape machine of TensorRT": (
        "IShuffleLayer (Unnamed Layer* 7) [Shuffle]: reshaping failed for tensor: t_1 reshape would change volume "
        "60 to 64 Instruction: RESHAPE_ZERO_IS_PLACEHOLDER{6 10} {8 8}.",
        *("tensorrt", "shuffle", "count-mismatch", {"input": (6, 10), "target": (8, 8), "node": "(Unnamed Layer* 7)"}),
    ),
    "oneDNN": (
        "onednn_verbose,v1,graph,create:check,compile,StaticReshape, size of input should be same as output. "
        "input size: 60, output size: 64 ,src/graph/interface/shape_infer.cpp:9",
        *("onednn", "reshape", "count-mismatch", {"elements": 60, "target_elements": 64}),
    ),
    "OpenVINO of long ago": (
        "While validating node 'v1::Reshape out_4 (Relu_3[0]:f32{6,10}, 77[0]:i64{2}) -> (f32{?,?})' with "
        "friendly_name 'out_4':\nRequested output shape {8,8} is incompatible with input shape {6, 10}",
        *("openvino", "reshape", "count-mismatch", {"input": (6, 10), "target": (8, 8), "node": "out_4"}),
    ),
    "TensorFlow's multiple": (
        "InvalidArgumentError: Input to reshape is a tensor with 1000 values, but the requested shape requires a "
        "multiple of 48\n\t [[{{node head/Reshape}}]]",
        *("tensorflow", "reshape", "indivisible", {"elements": 1000, "target_elements": 48, "node": "head/Reshape"}),
    ),
    "Caffe prints the output first": (
        "F0506 07:08:09.123456 77 reshape_layer.cpp:87] Check failed: top[0]->count() == bottom[0]->count() "
        "(64 vs. 60) output count must match input count",
        *("caffe", "reshape", "count-mismatch", {"elements": 60, "target_elements": 64}),
    ),
    "TFLite prints the input first": (
        "tensorflow/lite/kernels/reshape.cc:92 num_input_elements != num_output_elements (60 != 64)Node number 3 "
        "(RESHAPE) failed to prepare.",
        *("tflite", "reshape", "count-mismatch", {"elements": 60, "target_elements": 64, "node": "3"}),
    ),
    "Core ML": (
        "ValueError: Invalid target shape in `reshape` op ([6, 10] to [np.int32(8), np.int32(8)]).",
        *("coreml", "reshape", "count-mismatch", {"input": (6, 10), "target": (8, 8)}),
    ),
    "an XNNPACK delegate's reshape is none": (
        "RuntimeError: XNNPack delegate failed to reshape runtimeNode number 4 "
        "(TfLiteXNNPackDelegate) failed to prepare.",
        *("tflite", None, "not-about-shape", {"node": "4"}),
    ),
    "torch matrix product": (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (512x2304 and 256x4)",
        *("torch", "matmul", "inner-differs", {"input": (512, 2304), "operands": ((256, 4),)}),
    ),
    "torch broadcast, of which two sizes are told": (
        "RuntimeError: The size of tensor a (245) must match the size of tensor b (244) at non-singleton dimension 2",
        *("torch", "broadcast", "not-broadcastable", {}),
    ),
    "torch convolution": (
        "RuntimeError: Given groups=1, weight of size [10, 3, 3, 3], expected input[1, 361, 424, 3] to have 3 "
        "channels, but got 361 channels instead",
        *("torch", "conv", "channels-differ", {"input": (1, 361, 424, 3), "operands": ((10, 3, 3, 3),)}),
    ),
    "torch window": (
        "RuntimeError: Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be "
        "greater than actual input size",
        *("torch", "conv", "window-too-large", {"input": (2, 2), "operands": ((3, 3),)}),
    ),
    "torch stack": (
        "RuntimeError: stack expects each tensor to be equal size, but got [3, 5] at entry 0 and [3, 6] at entry 1",
        *("torch", "stack", "dims-differ", {"input": (3, 5), "operands": ((3, 6),)}),
    ),
    "NumPy, three operands": (
        "ValueError: operands could not be broadcast together with shapes (8,4) (3,3) (8,) ",
        *("numpy", "broadcast", "not-broadcastable", {"input": (8, 4), "operands": ((3, 3), (8,))}),
    ),
    "JAX": (
        "TypeError: add got incompatible shapes for broadcasting: (2, 3), (4,).",
        *("jax", "broadcast", "not-broadcastable", {"input": (2, 3), "operands": ((4,),)}),
    ),
    "TensorFlow matrix product": (
        "tensorflow.python.framework.errors_impl.InvalidArgumentError: Matrix size-incompatible: In[0]: [2,3], In[1]: "
        "[4,5] [Op:MatMul]",
        *("tensorflow", "matmul", "inner-differs", {"input": (2, 3), "operands": ((4, 5),)}),
    ),
    "TensorFlow concatenation": (
        "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [2,4] [Op:ConcatV2]",
        *("tensorflow", "concat", "dims-differ", {"input": (2, 3), "operands": ((2, 4),)}),
    ),
    "TensorFlow, a graph": (
        "Dimensions must be equal, but are 3 and 4 for '{{node MatMul}} = MatMul[T=DT_FLOAT](x, y)' with input shapes: "
        "[2,3], [4,5].",
        *("tensorflow", "matmul", "inner-differs", {"input": (2, 3), "operands": ((4, 5),), "node": "MatMul"}),
    ),
    "Keras concatenation": (
        "ValueError: A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. "
        "Received: input_shape=[(None, 3, 4), (None, 5, 4)]",
        *("keras", "concat", "dims-differ", {"input": ("?", 3, 4), "operands": (("?", 5, 4),)}),
    ),
    "ONNX Runtime concatenation": (
        ORT + "Non-zero status code returned while running Concat node. Name:'cat_4' Status Message: concat.cc:159 "
        "Non concat axis dimensions must match: Axis 2 has mismatched dimensions of 107 and 108",
        *("onnxruntime", "concat", "dims-differ", {"node": "cat_4"}),
    ),
    "Theano": (
        "ValueError: Input dimension mis-match. (input[0].shape[1] = 7, input[1].shape[1] = 9)\nApply node that caused "
        "the error: Elemwise{mul}(a, b)\nInputs types: [b, b]\nInputs shapes: [(2, 7), (2, 9)]",
        *("theano", "broadcast", "not-broadcastable", {"input": (2, 7), "operands": ((2, 9),)}),
    ),
    "weights": (
        "size mismatch for a.weight: copying a param with shape torch.Size([4, 8]) from checkpoint, the shape in "
        "current model is torch.Size([4, 9]).",
        *("torch", None, "not-about-shape", {"input": (4, 8), "operands": ((4, 9),)}),
    ),
    "what a node fails of says more than its operator": (
        "While validating node 'opset1::Add Add_3 (opset1::Parameter a[0]:f32[2,3], b[0]:f32[5]) -> ()' "
        "with friendly_name 'Add_3':\nArgument shapes are inconsistent.",
        *("openvino", "broadcast", "not-broadcastable", {"node": "Add_3", "input": (2, 3), "operands": ((5,),)}),
    ),
    "a node of another operator": (
        ORT + "Node (join_2) Op (Gather) [ShapeInferenceError] axis must be in [-rank, rank-1].",
        *("onnxruntime", None, "not-about-shape", {"node": "join_2"}),
    ),
}


def told(reading):
    """Return what a reading holds, as the table above writes it."""
    held = {name: getattr(reading, name) for name in HELD if getattr(reading, name) is not None}
    return reading.framework, reading.op, reading.cause, held


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_read(name):
    text, *expected = MESSAGES[name]
    (found,) = readings(text)
    assert told(found) == tuple(expected)


def lines(decorate):
    return lambda text: "\n".join(decorate(line) for line in text.split("\n"))


DECORATIONS = {
    "colours": lines(lambda line: f"\x1b[1;31m{line}\x1b[0m"),
    "escaped colours": lines(lambda line: f"\\u001b[31m{line}\\u001b[0m"),
    "json": lambda text: json.dumps({"level": "error", "message": text}),
    "json in json": lambda text: json.dumps(json.dumps([text])),
    "html": lambda text: f"<pre>{html.escape(text)}</pre>".replace("\n", "<br/>\n"),
    "a CI service": lines(lambda line: f"2024-05-06T07:08:09.1234567Z {line}"),
    "a logger": lines(lambda line: f"2024-05-06 07:08:09,123 - ERROR - root - {line}"),
    "containers": lines(lambda line: f"app_1  | {line}"),
    "a cluster": lines(lambda line: f"2024-05-06T07:08:09.123456789Z stderr F {line}"),
    "a rank": lines(lambda line: f"[rank3]: {line}"),
    "pytest": lines(lambda line: f"E   {line}"),
    "a quotation": lines(lambda line: f"> {line}"),
    "a worker": lines(lambda line: f"(pid=1234, ip=10.0.0.1) {line}"),
    "a box": lines(lambda line: f"\u2502 {line} \u2502"),
    "windows": lambda text: text.replace("\n", "\r\n"),
    "curly quotes": lambda text: re.sub("'([^']*)'", "\u2018\\1\u2019", text),
    "repr": repr,
    "wrapped": lines(lambda line: textwrap.fill(line, 72, break_on_hyphens=False, break_long_words=False)),
    "broken": lines(lambda line: "\n".join(line[place : place + 72] for place in range(0, len(line), 72))),
    "a log": lambda text: "step 7 took 12 ms\n" * 5000 + text + "\nstep 8 took 12 ms" * 5000,
}


@pytest.mark.parametrize("decoration", DECORATIONS)
def test_a_decoration_changes_nothing(decoration):
    for text, framework, op, cause, held in MESSAGES.values():
        found = readings(DECORATIONS[decoration](text))
        assert found, text
        kept = {name: value for name, value in held.items() if name != "node"}
        framework_, op_, cause_, held_ = told(found[0])
        held_.pop("node", None)
        assert (framework_, op_, cause_, held_) == (framework, op, cause, kept), text


def test_a_word_broken_anywhere_is_found():
    (found,) = readings(
        "RuntimeError: The expanded size of the tensor (7) must match the exi\nsting size (6) at non-sing\n"
        "leton dimension 1.  Target sizes: [5, 7].  Tensor sizes: [6]"
    )
    assert (found.op, found.input, found.target) == ("expand", (6,), (5, 7))


def test_what_follows_a_count_does_not_become_part_of_it():
    (found,) = readings("cannot reshape array of size 24 into shape (5,5)\n7 8 9")
    assert (found.elements, found.target) == (24, (5, 5))


def test_one_message_is_read_once_and_others_each():
    count, infer = MESSAGES["torch count"][0], "RuntimeError: only one dimension can be inferred"
    assert len(readings("\n".join([count] * 9))) == 1
    assert [found.cause for found in readings(f"{count}\n{infer}\n{count}")] == ["count-mismatch", "two-infer"]


def test_a_message_about_a_shape_goes_before_others():
    text = "CUDA out of memory. Tried to allocate 2 GiB\n" + MESSAGES["torch count"][0]
    assert [found.cause for found in readings(text)] == ["count-mismatch"]


@pytest.mark.parametrize("words", ["an index", "a device", "memory"])
def test_what_a_message_is_about_has_its_article(words):
    text = {
        "an index": "IndexError: index 9 is out of bounds for dimension 0 with size 3",
        "a device": "Expected all tensors to be on the same device",
        "memory": "CUDA out of memory. Tried to allocate 2 GiB",
    }
    (found,) = readings(text[words])
    assert advice(found).said.endswith(f"it is about {words}")


def test_nothing_known_gives_nothing():
    assert readings("") == readings("all went well, [2, 3] and (4, 5)") == []


SAME = "2024-05-06T07:08:09Z step 7 of 100: layer saved\n"
COUNTED = "cannot reshape array of size {} into shape (5,7)\n"


@pytest.mark.parametrize(
    "line",
    [
        SAME,
        SAME.replace("7 of", "{at} of"),
        "{word} was here\n",
        SAME.rstrip() + " ",
        "[V] layer {at}: invalid dimension, the shape is [1, {at}]\n",
    ],
    ids=["repeated", "counted", "all different", "one line", "likely lines"],
)
def test_a_message_is_found_wherever_it_stands_in_a_long_log(line):
    words = ("".join(letters) for letters in itertools.product("abcdefghijklmnopqrst", repeat=3))
    log = [line.format(at=at, word=word) for at, word in zip(range(6_000), words, strict=False)]
    for place in (10, 3_000, 5_990):
        text = "".join([*log[:place], "\n", COUNTED.format(36), *log[place:]])
        (found,) = readings(text)
        assert (found.op, found.elements, found.target) == ("reshape", 36, (5, 7))


def test_messages_alike_but_for_their_numbers_are_all_read():
    text = "".join(COUNTED.format(36 + at) + SAME * 2_000 for at in range(4))
    assert [found.elements for found in readings(text)] == [36, 37, 38, 39]
