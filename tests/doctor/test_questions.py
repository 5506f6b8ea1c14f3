"""The ten questions that people ask most of a runtime's message: what each is told, and what it is asked for."""

from __future__ import annotations

import pytest

from shapecalc.doctor.reading import knows
from shapecalc.doctor.report import diagnosis

RESHAPE = "The input tensor cannot be reshaped to the requested shape. Input shape:{%s}, requested shape:{%s}"
FRAME = '  File "/srv/net.py", line 7, in forward\n    {}\n'
QUESTIONS = {
    "it works with the batch of the sample alone": (
        "Non-zero status code returned while running Reshape node. Name:'Reshape_9' Status Message: "
        + RESHAPE % ("6,18,4,4", "1,2,9,4,4"),
        ["Reshape_9", "batch size of the example", "write 0,2,9,4,4: right for every batch", "model FILE.onnx --fix"],
    ),
    "it works with the size of the sample alone": (
        RESHAPE % ("1,18,80,80", "1,2,9,20,20"),
        ["only this differs: 80,80 in the input, 20,20 in the target", "write 1,2,9,80,80"],
    ),
    "it works with the length of the sample alone": (
        RESHAPE % ("1,4,64,64", "1,4,1,256"),
        ["only this differs: 64,64 in the input, 256 in the target", "write 1,4,1,-1"],
    ),
    "which dim is missing in a permute": (
        "RuntimeError: permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
        "desired ordering of dimensions i.e. input.dim() = 2 is not equal to len(dims) = 3",
        ["the tensor has 2 dims, and the permutation names 3", "one dim is missing", "x.shape"],
    ),
    "which dim is missing in a transpose that tells nothing": (
        FRAME.format("x = np.transpose(x, (2, 0, 1))") + "ValueError: axes don't match array",
        ["the image is grey: read it in colour, or give it a dim for its channels, x[..., None]", "x.shape"],
    ),
    "which dim is off, and whether to resize": (
        "RuntimeError: shape '[4, 30, 30, 64]' is invalid for input of size 215296",
        ["215296 = 2^8*29^2", "write 4,29,29,64"],
    ),
    "-1 with an empty tensor": (
        "RuntimeError: cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension size "
        "-1 can be any value and is ambiguous",
        ["-1 could be any size", "write the size in place of -1"],
    ),
    "which operand of an expand is wrong": (
        "RuntimeError: The expanded size of the tensor (7) must match the existing size (6) at non-singleton "
        "dimension 1.  Target sizes: [5, 7].  Tensor sizes: [6]",
        ["input dim 0 is 6, 7 is requested", "fits     5,6 would fit", "shapecalc expand 6 5,6"],
    ),
    "which operand, where no shapes are told": (
        "RuntimeError: The expanded size of the tensor (7) must match the existing size (6) at non-singleton "
        "dimension 2",
        ["the tensor has 6 there, which is neither 1 nor the 7 that is asked for", "missing", "x.shape"],
    ),
    "what a number is": (
        "InvalidArgumentError: Input to reshape is a tensor with 1000 values, but the requested shape requires a "
        "multiple of 48",
        ["1000 = 2^3*5^3", "48 = 2^4*3", "1000 has no factor 2^4 and no factor 3", "missing"],
    ),
    "which layer it is": (
        "[E] 9: [graphShapeAnalyzer.cpp::throwIfError::1306] Error Code 9: Internal Error (Reshape_51: reshape changes "
        "volume\n)",
        ["node     Reshape_51", "missing", "trtexec --verbose"],
    ),
    "a squeeze that PyTorch lets pass": (
        "Non-zero status code returned while running Squeeze node. Name:'Squeeze_3' Status Message: squeeze.h:47 "
        "input_shape[i] == 1 was false. Dimension of input 1 must be 1 instead of 3. shape={5,3}",
        ["axes     1", "PyTorch's squeeze leaves others alone, ONNX's refuses them"],
    ),
    "sizes that are not told": (
        FRAME.format("x = x.reshape(64, 28, 28)") + "ValueError: total size of new array must be unchanged",
        ["says x.reshape(64, 28, 28), which takes 50176 = 2^10*7^2 elements", "x.shape"],
    ),
    "where the line of code is shown": (
        FRAME.format("pred = feats.reshape(32, 13, 13, 3, 5 + num_classes)")
        + "ValueError: cannot reshape array of size 1379040 into shape (32,13,13,3,25)",
        [
            "the line of code says feats.reshape(32, 13, 13, 3, 5 + num_classes)",
            "missing  feats.shape before that line",
        ],
    ),
    "where a view of a transpose is shown": (
        FRAME.format("x = x.transpose(1, 2).view(4, n, 768)") + "RuntimeError: view size is not compatible with input "
        "tensor's size and stride (at least one dimension spans across two contiguous subspaces).",
        [
            "the line of code says x.transpose(1, 2).view(4, n, 768)",
            "missing  x.shape and x.stride() before that line",
            "try      shapecalc code 'x.transpose(1, 2).view(4, n, 768)' --input x=...",
        ],
    ),
    "a view of a tensor whose shape is stated": (
        "y = x.transpose(1, 2).view(4, 768)\n>>> x.shape\ntorch.Size([4, 12, 64])\n"
        "RuntimeError: view size is not compatible with input tensor's size and stride",
        ["missing  x.stride() before that line", "shows    shapecalc code", "view(4, 768)' --input x=4,12,64"],
    ),
    "which sizes divide an axis": (
        'processing rearrange-reduction pattern "c (h p) w -> c h p w".\n Input tensor shape: (3, 225, 9). Additional '
        "info: {'p': 16}.\n Shape mismatch, can't divide axis of length 225 in chunks of 16",
        ["let p be 15, which divides 225", "try      shapecalc rearrange 3,240,9 'c (h p) w -> c h p w' p=16"],
    ),
    "what only shows the error again": ("shape '[7, 5]' is invalid for input of size 24", ["shows    shapecalc"]),
    "where no line of code is shown": (
        "RuntimeError: view size is not compatible with input tensor's size and stride",
        ["and x.shape and x.stride() before it; then shapecalc code 'LINE' --input x=SHAPE shows why"],
    ),
    "what 2304 is": (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (512x2304 and 256x4)",
        ["a matrix product: ", "2304 = 9*256: a 3x3 map was flattened", "shapecalc matmul 512,2304 2304,4 -"],
    ),
    "where a flatten is missing": (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (14336x7 and 3136x10)",
        ["14336*7 = 32*3136: 32 rows of 3136, so a flatten may be missing"],
    ),
    "which of two is one too long": (
        "ValueError: operands could not be broadcast together with shapes (2,64,245) (2,64,244) ",
        ["a broadcast: ", "245 is one more than 244, as by rounding", "cut the input where it is one too long"],
    ),
    "what a concatenation lacks": (
        "Sizes of tensors must match except in dimension 1. Expected size 108 but got size 107 for tensor number 1 in "
        "the list.",
        ["a concatenation: ", "108 is one more than 107, as by rounding", "the shapes of its tensors before it"],
    ),
    "what was declared": (
        "Got invalid dimensions for input: feats for the following indices\n index: 0 Got: 196320 Expected: 1\n",
        ["a model's input", "dim 0 is 196320, and 1 is declared", "model FILE.onnx --fix"],
    ),
    "what a layer wants": (
        'Input 0 of layer "model" is incompatible with the layer: expected shape=(None, None, None, 3), found '
        "shape=(1, 3, 416, 554)",
        ["put the channels of the given shape last, NHWC for NCHW: 1,416,554,3"],
    ),
    "view or reshape": (
        "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans "
        "across two contiguous subspaces). Use .reshape(...) instead.",
        ["in memory in another order", "write reshape in place of view, or contiguous() before it", "x.stride()"],
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_frequent_question_is_answered_or_told_what_is_missing(question):
    text, said = QUESTIONS[question]
    found = diagnosis(text)
    answer = "\n".join(found.lines())
    assert found.understood or "the message is not about the shape of one tensor" in answer
    assert [part for part in said if part not in answer] == []


@pytest.mark.parametrize(
    "text",
    [
        "InvalidArgumentError: Input to reshape is a tensor with 768 values, but the requested shape has 3072",
        "ValueError: cannot reshape array of size 0 into shape (0,newaxis)",
    ],
)
def test_no_sizes_are_suggested_where_a_count_stands_for_a_shape(text):
    assert [command for _, advised in diagnosis(text).found for _, command in advised.fixes if command] == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("y = x.reshape(6, 5 + k)", False),
        ("y = np.reshape(x, (6, 5 + k))", False),
        ("y = x.reshape(-1, 6, 5 + k)", False),
        ("y = x.reshape(shape)", True),
        ("y = x.reshape(*shape, 6)", True),
        ("y = x + 6", True),
    ],
)
def test_numpy_may_hide_a_size_only_where_the_line_of_code_does_not_show_it(line, told):
    text = FRAME.format(line) + "ValueError: cannot reshape array of size 100 into shape (6,9)"
    ((_, advised),) = diagnosis(text).found
    assert ("NumPy does not print a -1" in advised.said) == told


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("x = self.stem(x).view(4, n)", "the shape of self.stem(x) before that line"),
        ("x = self.features.view(4, n)", "self.features.shape before that line"),
        ("x = h.contiguous().view(4, n)", "h.shape before that line"),
        ("x = torch.reshape(h, (4, n))", "h.shape before that line"),
        ("x = torch.reshape(f(a, b), (4, n))", "the shape of f(a, b) before that line"),
        ("x = h.permute(0, 2, 1)", "the line of code, and x.shape before it"),
        ("x = h.view(", "the line of code, and x.shape before it"),
        ("use .view(4, 5)", "the line of code, and x.shape before it"),
    ],
)
def test_what_is_missing_is_named_as_the_line_of_code_names_it(line, missing):
    text = FRAME.format(line) + "RuntimeError: shape '[4, 3]' is invalid for input of size 100"
    ((_, advised),) = diagnosis(text).found
    assert advised.ask == missing


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("shape '[8, 3, 64]' is invalid for input of size 1600", "if 8,3,64 is what you meant"),
        ("shape '[8, -1, 64]' is invalid for input of size 1600", "if 8,-1,64 is what you meant"),
        ("Input to reshape is a tensor with 768 values, but the requested shape has 3072", "if the target is what"),
        (RESHAPE % ("1,18,80,80", "1,2,9,20,20"), None),
        (RESHAPE % ("6,18,4,4", "1,2,9,4,4"), None),
        ("The expanded size of the tensor (7) must match the existing size (6) at non-singleton dimension 2", None),
    ],
)
def test_the_input_is_doubted_where_the_message_does_not_show_it(text, told):
    ((_, advised),) = diagnosis(text).found
    doubts = [said for said, _ in advised.fixes if "the input is wrong before this line: print its shape" in said]
    assert [said.startswith(told or "") for said in doubts] == ([True] if told else [])


def test_a_batch_that_is_written_into_a_target_is_told_where_to_mend():
    ((_, advised),) = diagnosis(RESHAPE % ("4,197,768", "1,197,12,64")).found
    assert "; the input has 4 times as many elements as the target" in advised.said
    last, _ = advised.fixes[-1]
    assert "shapecalc model FILE.onnx --fix" in last
    assert "x.shape[0] in its place" in last


def test_commands_name_the_model_that_is_given():
    text = "Got invalid dimensions for input: x for the following indices\n index: 0 Got: 512 Expected: 1\n"
    found = diagnosis(text, "my model.onnx")
    assert "  try      shapecalc model 'my model.onnx' --fix -o fixed.onnx" in found.lines()
    assert found.as_json()[0]["fixes"][0]["command"] == "shapecalc model 'my model.onnx' --fix -o fixed.onnx"


def test_a_text_is_known_if_a_sentence_stands_in_it():
    assert [knows(text) for text in (RESHAPE, "see [2, 3]", "b c h w -> b (h w) c", "x.view(2, 3)")] == [
        True,
        *[False] * 3,
    ]
