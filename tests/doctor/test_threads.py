"""Messages of public threads: what is read, and what is advised first, beside what the thread found."""

from __future__ import annotations

import pytest

from shapecalc.doctor.report import diagnosis

ORT = "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : "
SIZE = "\nRuntimeError: shape '{}' is invalid for input of size {}"
THREADS = [
    # text, the framework and the op, the input and what is beside it or asked for, the first advice
    ("Shape (1 x 128 x 32 x 32) was not in enumerated set of allowed shapes", "coreml", "1,128,32,32", "give it the"),
    (
        'Error while processing rearrange-reduction pattern "b (g c) h w -> b g c h w".\n Input tensor shape: torch.'
        "Size([16, 3, 512, 512]). Additional info: {'g': 2}.\n"
        " Shape mismatch, can't divide axis of length 3 in chunks of 2",
        *("einops rearrange", "16,3,512,512", None),
    ),
    (
        "TypeError: cannot reshape array of shape (3, 2000, 349) (size 2094000) into shape (3, 1000, 2, 174, 2) (size "
        "2088000)",
        *("jax reshape", "3,2000,349 3,1000,2,174,2", "pad axis 2 of the input from 349 to 350"),
    ),
    (
        "A `Concatenate` layer requires inputs with matching shapes except for the concat axis. Got inputs shapes: "
        "[(None, 20, 20, 512), (None, 19, 19, 256)]",
        *("keras concat", "?,20,20,512 ?,19,19,256", "pad the image until all strides divide it"),
    ),
    (
        "Error when checking input: expected conv2d_5_input to have 4 dimensions, but got array with shape (14000, "
        "120, 320)",
        *("keras", "14000,120,320", "insert the dim that is missing"),
    ),
    (
        "check_tensor_dims: tensor 'blk.0.attn_k_norm.weight' has wrong shape; expected  5120, got  1024,     1,     1",
        *("llama.cpp", "1024,1,1 5120", "load them into the model that they were saved from"),
    ),
    (
        "Error in operator reshape0: Check failed: oshape.Size() == dshape.Size() (17920 vs. 573440) Target shape size "
        "is different to source. Target: [35,512]\nSource: [32,128,4,35]",
        *("mxnet reshape", "32,128,4,35 35,512", "write -1,35,512"),
    ),
    (
        "could not broadcast input array from shape (630,1153,4) into shape (630,1153,3)",
        *("numpy expand", "630,1153,4 630,1153,3", "drop the alpha channel"),
    ),
    (
        "ValueError: matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
        "(n?,k),(k,m?)->(n?,m?) (size 77566 is different from 77565)",
        *("numpy matmul", "", None),
    ),
    (
        "label = img_to_array(label).reshape((img_w*img_h,))\nValueError: cannot reshape array of size 9907170 into "
        "shape (65536,)",
        *("numpy reshape", "65536", "if 65536 is what you meant, the input is wrong before this line"),
    ),
    ("np.stack(images, axis=0)\nall input arrays must have the same shape", "numpy stack", "", "bring the samples to"),
    (
        ORT + "Got invalid dimensions for input: images for the following indices\n index: 2 Got: 2560 Expected: 640\n "
        "index: 3 Got: 2560 Expected: 640\n",
        *("onnxruntime", "", "give it the declared shape"),
    ),
    (
        "The input tensor cannot be reshaped to the requested shape. Input shape:{4,96,64,64}, requested shape:"
        "{1,96,4096}",
        *("onnxruntime reshape", "4,96,64,64 1,96,4096", "write 0,96,4096: right for every batch"),
    ),
    (
        "While validating node 'v1::Reshape Reshape_52 (Transpose_40[0]:f16{1,270,480,16}, 84[0]:i64{4}) -> (f16{?,?})'"
        " with friendly_name 'Reshape_52':\nRequested output shape {1,180,1280,4} is incompatible with input shape",
        *("openvino reshape", "1,270,480,16 1,180,1280,4", "give the model the size that it was exported with"),
    ),
    (
        "ConcatOp : Dimensions of inputs should match: shape[0] = [1,256,48,64] vs. shape[1] = [1,288,48,63]",
        *("tensorflow concat", "1,256,48,64 1,288,48,63", "pad the image until all strides divide it"),
    ),
    (
        "ValueError: Can not squeeze dim[1], expected a dimension of 1, got 19 for 'cls_prob' (op: 'Squeeze') with "
        "input shapes: [384,19,19,2].",
        *("tensorflow squeeze", "384,19,19,2", "the map is no 1x1: give the image the size"),
    ),
    (
        "[TRT] [E] 3: Error Code 3: API Usage Error (Supplied binding dimension [1,3,576,768] for bindings[0] exceed "
        "min ~ max range at index 2, maximum dimension in profile is 800",
        *("tensorrt", "1,3,576,768", "give it a shape between those of the profile"),
    ),
    (
        "ValueError: Cannot set tensor: Dimension mismatch. Got 3920 but expected 490 for dimension 1 of input 37.",
        *("tflite", "", "give it the declared shape"),
    ),
    (
        "embeddings += position_embeddings\nRuntimeError: The size of tensor a (937) must match the size of tensor b "
        "(512) at non-singleton dimension 1",
        *("torch broadcast", "", "cut the tokens to 512"),
    ),
    (
        "RuntimeError: output with shape [1, 64, 64] doesn't match the broadcast shape [3, 64, 64]",
        *("torch broadcast", "1,64,64 3,64,64", "the image is grey"),
    ),
    (
        "RuntimeError: Given groups=1, weight of size [16, 3, 3, 3], expected input[1, 4, 345, 514] to have 3 channels,"
        " but got 4 channels instead",
        *("torch conv", "1,4,345,514 16,3,3,3", "drop the alpha channel"),
    ),
    (
        "Constraints violated (batch)!\n  - Not all values of batch = L['x'].size()[0] in the specified range batch <= "
        "10 are valid because batch was inferred to be a constant (1).",
        *("torch", "", "export it with an example in which that dim is 2 or more"),
    ),
    (
        "size mismatch, m1: [1792 x 28], m2: [784 x 256] at c:\\src\\TensorMath.cpp:2070",
        *("torch matmul", "1792,28 784,256", "flatten each sample before the layer, x.flatten(1), to 64,784"),
    ),
    (
        "number of dimensions in the tensor input does not match the length of the desired ordering of dimensions\n"
        "the shape of init_latents_w is [1,4,64,64], but permute(0, 2, 1, 3, 4) are used",
        *("torch transpose", "1,4,64,64", "name each axis once: if the tensor has a dim more or less"),
    ),
    (
        "stack expects each tensor to be equal size, but got [3, 1088, 773] at entry 0 and [3, 384, 480] at entry 1",
        *("torch stack", "3,1088,773 3,384,480", "bring the samples to one size"),
    ),
    (SIZE.format("[16, 32, 32]", 11264), "torch reshape", "16,32,32", "write -1,32,32: right for every batch"),
    (
        "X2 = X2.view(N, 128, H*W)" + SIZE.format("[1, 128, 2820]", 368640),
        *("torch reshape", "1,128,2820", "write 1,128,2880: H*W is 2820 in that line, and 2880 would fit"),
    ),
    (
        "k = key_states.view(bsz, q_len, self.heads, self.head_dim).transpose(1, 2)"
        + SIZE.format("[1, 21, 32, 128]", 43008),
        *("torch reshape", "1,21,32,128", "write 1,21,16,128: self.heads is 32 in that line, and 16 would fit"),
    ),
    (
        "x.view(x.size(0), self.c, self.side, self.side)" + SIZE.format("[32, 128, 9, 9]", 802816),
        *("torch reshape", "32,128,9,9", "write 32,128,14,14: self.side is 9 in that line, and 14 would fit"),
    ),
    (
        "size mismatch for position_embeddings: copying a param with shape torch.Size([1, 1025, 384]) from checkpoint, "
        "the shape in current model is torch.Size([1, 577, 384]).",
        *("torch", "1,1025,384 1,577,384", "load them into the model that they were saved from"),
    ),
    (
        'Input 0 of layer "dense" is incompatible with the layer: expected axis -1 of input shape to have value 784 '
        "but received input with shape (None, 28, 28)",
        *("keras linear", "?,28,28 ?,784", "flatten the input from axis 1 on: write ?,784"),
    ),
    (
        "layer sequential_1: expected axis -1 of input shape to have value 3 but got shape [None, 100, 100, 4]",
        *("keras linear", "?,100,100,4 ?,3", "drop the alpha channel"),
    ),
    (
        'layer "dense_2": expected axis -1 of input shape to have value 16384, but received input with shape '
        "(1, 65536)",
        *("keras linear", "1,65536 ?,16384", "give it images of the size that it was built for"),
    ),
    (
        "expected axis 1 of input shape to have value 32, but received input with shape (None, 48, 7, 7)",
        *("keras linear", "?,48,7,7", "build the layer for 48 features, or give it the 32"),
    ),
    (
        "requires inputs with matching shapes except for the concat axis. Got inputs shapes: [(None, 16, 512), "
        "(None, 16, 256)",
        *("keras concat", "?,16,512 ?,16,256", "lay them along axis 2, in which alone they differ"),
    ),
    (
        "dot_general requires lhs batch dimensions and rhs batch dimensions to have the same shape, got [2 4] and "
        "[2 1].",
        *("jax matmul", "", None),
    ),
    (
        'Initializer expected to generate shape (444, 256) but got shape (472, 256) instead for parameter "kernel"',
        *("jax", "472,256 444,256", "load them into the model"),
    ),
    (
        "[ERROR:0@8.2] OPENCV/DNN: [Reshape]:(onnx_node!/dfl/Reshape): getMemoryShapes() throws exception. inputs=1 "
        "outputs=1/1 blobs=0\n[ERROR:0@8.2]     input[0] = [ 1 64 1029 ]\nreshape_layer.cpp:109: error: (-215:Assertion"
        " failed) total(srcShape, srcRange.start, srcRange.end) == maskTotal in function 'computeShapeByReshapeMask'",
        *("opencv reshape", "1,64,1029", "give the model the size that it was exported with"),
    ),
    (
        "[TensorRT] ERROR: Parameter check failed at: engine.cpp::setBindingDimensions::1045, condition: "
        "profileMinDims.d[i] <= dimensions.d[i]",
        *("tensorrt", "", "give it a shape between those of the profile"),
    ),
    (
        "unexpected shape for input 'input__0' for model 'some_model'. Expected [-1, 238], got [238]",
        *("triton", "238 ?,238", "insert a dim of 1 in the given shape: 1,238"),
    ),
    ("[reshape] Cannot reshape array of size 163840 into shape (1,40,8192).", "mlx reshape", "1,40,8192", "if 1,40"),
    (
        "Invalid argument: logits and labels must be broadcastable: logits_size=[1,101] labels_size=[1,1001]",
        *("tensorflow", "1,101 1,1001", "give predictions and targets the same dims"),
    ),
    (
        "Ranks of input data are different, cannot concatenate them. expected rank: 1 got: 2",
        "onnxruntime concat",
        "",
        0,
    ),
    (
        "[TRT] MatMul_177: last dimension of input0 = 15 and second to last dimension of input1 = 10 but must match.",
        *("tensorrt matmul", "", None),
    ),
    (
        "MatMul_198: attempt to multiply two matrices with mismatching dimensions\ncondition '==' violated\n"
        "Instruction: CHECK_EQUAL 4 2",
        *("tensorrt matmul", "", None),
    ),
    (
        "[Convolution]: at least 4 dimensions are required for input\nWhile parsing node number 2 [Add]:",
        *("tensorrt conv", "", None),
    ),
    ("Parser error: Reshape: -1 dimension specified more than 1 time", "tensorrt reshape", "", "keep one -1"),
    (
        "operands could not be broadcast together with shapes (38,401,3) (1444,1080,3)",
        *("numpy broadcast", "38,401,3 1444,1080,3", "bring them to one size before"),
    ),
    ("shape '[256, 256, 1]' is invalid for input of size 8192", "torch reshape", "256,256,1", "if 256,256,1 is what"),
    (
        "operands could not be broadcast together with shapes (3045,1645,1,4) (3045,1645,4) (3045,1645,4)",
        *("numpy broadcast", "3045,1645,1,4 3045,1645,4 3045,1645,4", "drop a 1 of the input: write 3045,1645,4"),
    ),
    ("cannot reshape array of size 784 into shape (28,29)", "numpy reshape", "28,29", "write 28,28"),
    (
        'Error while processing rearrange-reduction pattern "c (h p) w -> c h p w".\n Input tensor shape: (3, 225, 9). '
        "Additional info: {'p': 16}.\n Shape mismatch, can't divide axis of length 225 in chunks of 16",
        *("einops rearrange", "3,225,9", "pad that axis from 225 to 240, the next multiple of 16, or cut it to 224"),
    ),
    # what is pasted around a message
    (
        "x = f(y)  # x: (2, 3, 4)\nx.view(5, 5)" + SIZE.format("[5, 5]", 24),
        *("torch reshape", "2,3,4 5,5", None),
    ),
    (
        "torch.Size([2, 3, 4])  # x.shape\ntorch.Size([5, 6])\n"
        "The size of tensor a (4) must match the size of tensor b (6) at non-singleton dimension 2",
        *("torch broadcast", "2,3,4 5,6", None),
    ),
    (
        "x.shape = (2, 3, 4)\nx.transpose(0, 3, 1, 2)\nValueError: axes don't match array",
        *("numpy transpose", "2,3,4", "insert a batch of 1 in front"),
    ),
    (
        "call_method view(*(FakeTensor(..., size=(2, 77, 448)), 2, 77, -1, 128), **{}): got "
        "RuntimeError(\"shape '[2, 77, -1, 128]' is invalid for input of size 68992\")",
        *("torch reshape", "2,77,448 2,77,-1,128", None),
    ),
    (
        "y = feats.view(32, 13, 13, 3, 5 + num_classes)" + SIZE.format("[32, 13, 13, 3, 25]", 1379040),
        *(
            "torch reshape",
            "32,13,13,3,25",
            "write 32,13,13,3,85: num_classes is 20 in that line, and 80 would fit",
        ),
    ),
    (SIZE.format("[512, 512]", 8388608), "torch reshape", "512,512", "write -1,512,512"),
    (
        "IShuffleLayer Reshape_9: reshape wildcard -1 has no integer solution. Reshaping [8,729,16,72] to [8,-1,4608].",
        *("tensorrt shuffle", "8,729,16,72 8,-1,4608", "axis 1 of the input is a 27x27 map: pad it to 28x28"),
    ),
    (
        "could not broadcast input array from shape (400,160) into shape (160,400)",
        *("numpy expand", "400,160 160,400", "transpose the input: write 160,400"),
    ),
]


@pytest.mark.parametrize(("text", "subject", "shapes", "first"), THREADS)
def test_a_message_is_read_and_its_first_advice_is_what_a_colleague_would_say(text, subject, shapes, first):
    found = diagnosis(text).as_json()[0]
    read = [found["input"], found["target"], *(found["operands"] or [])]
    assert " ".join(filter(None, (found["framework"], found["op"]))) == subject
    assert [",".join(map(str, each)) for each in read if each] == shapes.split()
    assert [fix["text"].startswith(first or "") for fix in found["fixes"][:1]] == ([True] if first else [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n    y = x.transpose(1, 2).squeeze(3)\n{}[-3, 2], but got 3)", "has 3 dims, so its axes are 0 to 2, and 3"),
        (
            "\n    y = x.transpose(1, 2).squeeze(3)\n{}[-3, 2], but got 3)",
            "of the calls before it .squeeze(3) names 3",
        ),
        ("Could not guard on data-dependent expression Eq(Mod(s21*s5, 2560), 0) (", "s21*s5 is a multiple of 2560"),
        (
            "Shape mismatch, can't divide axis of length 173 in chunks of 2",
            "size is no multiple of what it is to be divided into",
        ),
    ],
)
def test_what_is_said_is_true_and_uses_what_is_pasted(text, said):
    ((_, advised),) = diagnosis(text.format("Dimension out of range (expected to be in range of ")).found
    assert said in advised.said
