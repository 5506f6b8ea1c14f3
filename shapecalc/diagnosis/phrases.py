"""Advice for messages with a known wording.

Each row of `PHRASES` pairs a wording with advice to the user. The groups of the regular expression are inserted into
the advice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Phrase(NamedTuple):
    """A wording of messages, with advice to the user."""

    words: str
    """A lower-case part of the message, which is searched before the expression."""
    step: str
    """The advice to the user; `{0}`, `{1}` and so on are the groups of the regular expression."""
    expression: str = ""
    """A regular expression that must match the lower-case text; empty if `words` suffices."""
    applies: Callable[..., bool] | None = None
    """A function that returns whether the row applies to the numbers in the groups, or None for any numbers."""

    def match(self, quote: str, text: str) -> re.Match[str] | None:
        """Match the expression in lower-case texts; return None if the row does not apply."""
        match = re.search(self.expression, text) if self.words in quote else None
        return match if match and (self.applies is None or self.applies(*map(int, match.groups()))) else None


PHRASES = (
    Phrase(
        "decrease dim should be 1",
        "an index is behind the end of its dim, so {0} are left where 1 is taken: print the shape before that line; "
        "an input may be empty, or shorter than in the export",
        r"now received (\d+)",
    ),
    Phrase(
        "op_context->paddings",
        "the PAD of the file is for tensors of {0} dims, and gets {1}: give the input the dims of the model, or "
        "convert it again with a fixed input shape",
        r"dims \((\d+) != (\d+)\)",
    ),
    Phrase(
        "is not fully defined for output",
        "name the sizes that the file leaves open: --input_shape [1,...] with positive integers, and --input for each "
        "input",
    ),
    Phrase(
        "shape collision for node",
        "the converter computes another order of the dims than the file says, as after a change of NHWC to NCHW: "
        "--disable_nhwc_to_nchw, or write the node without keeping a layout, as a matmul or a reshape",
    ),
    Phrase(
        "index tensor must have the same number of dim",
        "give the index as many dims as the tensor: x.gather(1, index.unsqueeze(1)) for one index a row, index[:, "
        "None]",
    ),
    Phrase(
        "height of conv must be 1", "resize the pictures to the height for which the network was made, often imgH=32"
    ),
    Phrase(
        "must be non-negative",
        "a size is still unknown where two inputs of that node are combined: give the builder a profile with all sizes "
        "of the inputs, or make the node before, as a resize or a plugin, compute its sizes from its input",
        r"broadcast dimensions must be",
    ),
    Phrase(
        "input batch_size (1)",
        "print(logits.shape, target.shape) before that line: there is one prediction for {0} targets: if the target "
        "lost its batch of 1, as by squeeze(), give it back, target[None]; if it is one-hot, target.argmax(-1); if "
        "there is a label for each step or pixel, predict as many",
        r"match target batch_size \((\d+)\)",
    ),
    Phrase(
        "_lengths must be of size batch_size",
        "print(log_probs.shape, len(input_lengths), len(target_lengths)): log_probs must be (time, batch, classes), "
        "and each list needs one length a sample; for a smaller last batch, make them of the batch; DataParallel "
        "joins outputs along dim 0, which is the time: run it on one GPU, or with dim=1",
    ),
    Phrase(
        "should be binary",
        "print(preds.shape, preds.dtype, target.unique()): floats with the shape of the target are read as "
        "probabilities of one class: for class numbers give preds.argmax(1) or (N, C, ...) scores, with "
        "task='multiclass' and num_classes; for a binary target, 0 and 1",
    ),
    Phrase(
        "you are passing a target array",
        "the labels are class numbers, one column, and this loss takes one-hot labels: take "
        "sparse_categorical_crossentropy, or to_categorical(labels); if the last layer has one output, "
        "binary_crossentropy",
        r"target array of shape \(\d+, 1\) while using as loss `categorical",
    ),
    Phrase(
        "conflicting indexes found",
        "print(a.indexes, b.indexes): the named coordinate has other values in one of the two, or belongs to another "
        "dim: drop or rename one, x.drop_indexes(name), or give both the same values before they are combined",
    ),
    Phrase(
        "should be equal to the axis's size",
        "print(x.shape) before that line: it has {0} dims, and the order names {1}: if it is a label picture in "
        "colour, (N, H, W, 3) where (N, H, W) is meant, save the labels as class numbers in one channel; otherwise "
        "find the line that adds or drops a dim",
        r"dimension is (\d), axis's size is (\d)",
    ),
    Phrase(
        "arity(dims)",
        "print the shapes of the arguments before that line: one has {0} dims where {1} is taken; lengths, as those of "
        "ctc_loss, are (batch,), x.squeeze(-1)",
        r"received arity\(dims\):(\d) != d:(\d)",
    ),
    Phrase(
        "has to be 2d",
        "print(waveform.shape) before that line: it must be (channels, samples): waveform[None] for samples alone, "
        "waveform.mean(0, keepdim=True) for stereo of (2, samples), and x[0] of a batch",
    ),
    Phrase(
        "updates tensor should have shape",
        "print the shapes that you feed: the updates are ({0}), the indices ({1}), the data ({2}); if the model runs "
        "with its own framework, update the converter or export with another opset",
        r"updates shape: \{([\d,]*)\}, indices shape: \{([\d,]*)\}, data shape: \{([\d,]*)\}",
    ),
    Phrase(
        "len(lengths)",
        "give one length for each sample: {0} are given for a batch of {1}; with batch_first=True x is (batch, time, "
        "features)",
        r"got (\d+) \(batch_size=(\d+)\)",
    ),
    Phrase("sum of query counts", "give the sizes of the groups so that they sum to len(X), in the order of the rows"),
    Phrase(
        "grid_sampler(): expected grid",
        "give the grid {0} values in its last dim: 2 for pictures, (N, H, W, 2), 3 for volumes, (N, D, H, W, 3)",
        r"size (\d) in last dim",
    ),
    Phrase("selected index k out of range", "take at most the size of that dim: k=min(k, x.size(-1))"),
    Phrase(
        "exceeds dimension size",
        "print the shape of what is sliced, and what makes {0} and {1}: they end behind the dim of {2}; if it is a "
        "weight that is loaded or split over GPUs, compare config.json, as its numbers of heads, with the shape in the "
        "file, which may be of another revision; if it is a sequence, a table or a cache, compare its length with {2}",
        r"start \((\d+)\) \+ length \((\d+)\) exceeds dimension size \((\d+)\)",
    ),
    Phrase(
        "tensor expected for input",
        "print(x.shape) before the pooling: it takes (C, H, W) or (N, C, H, W), and none may be 0",
    ),
    Phrase("only supports at least 2d", "insert the missing dim, x[None], so that each row is a point"),
    Phrase(
        "edge_index",
        "print(data.edge_index.max(), data.x.size(0)): edge_index counts the rows of x from 0, so x needs a row for "
        "each node, at least the largest index plus 1; number the nodes from 0 without gaps, and give x one row a node",
    ),
    Phrase(
        "indice found",
        "if the model looks for a token or an object, give it an input that holds it, as the separator of a question "
        "and its text; an index of -1 or one behind the end is what a search that found nothing gives",
        r"invalid indice found",
    ),
    Phrase(
        "index",
        "print the largest index and the shape before that line: a size of {2} has 0 to {2} - 1, so no {0}; if yours "
        "count from 1, subtract 1; if they are ids of words or classes, build the layer for the largest plus 1, as "
        "vocab_size, num_embeddings or num_classes",
        r"index (-?\d+) is out of bounds for (dimension|axis) \d+ with size (\d+)",
    ),
    Phrase(
        "expects",
        "give the model a list of {0} arrays, one for each input: model.predict([a, b])",
        r"expects (\d+) input\(s\)",
    ),
    Phrase(
        "to a dense layer should be defined",
        "give the sides in Input(shape=...) so that Flatten has a size, or take GlobalAveragePooling2D before Dense",
    ),
    Phrase(
        "bad input shape (",
        "print(y.shape): the labels must be (n,): y.argmax(1) for one-hot labels, y.ravel() for a column; if it is the "
        "data, the two arguments are swapped",
    ),
    Phrase("per-column arrays must each be", "give each column one dim: x.ravel(), or list(x) for rows of arrays"),
    Phrase("if using all scalar values", "give lists, or one row: pd.DataFrame([d]), or pd.DataFrame(d, index=[0])"),
    Phrase(
        "buffer has wrong number of dimensions",
        "print(x.shape) before that line: it takes {0} dim, and {1} come: if one of them is 1, x.ravel(); if you want "
        "one column, x[:, 0]",
        r"expected (\d), got (\d)",
    ),
    Phrase(
        "cannot copy sequence with size",
        "print([len(row) for row in rows]): all need one length, and one has {0} where {1} are expected; find why it "
        "differs before you cut or pad",
        r"size (\d+) to array axis with dimension (\d+)",
    ),
    Phrase(
        "where the mask is true",
        "select as many values as the mask has: values[mask], or print(mask.sum()); {0} are given for {1}",
        r"assign (\d+) input values to the (\d+)",
    ),
    Phrase(
        "zero-size array",
        "the array is empty: print its shape, and find the filter or the data that left nothing above",
    ),
    Phrase(
        "from a java buffer",
        "the input takes {0} bytes, and the buffer holds {1}: 4 bytes for each value are float32, 1 is uint8; "
        "allocate {0}, and put floats by putFloat",
        r"with (\d+) bytes from a java buffer with (\d+)",
    ),
    Phrase(
        "from a tensorflowlite tensor",
        "make the output array of the shape that the model gives, {0}: another model file, or another number of "
        "results",
        r"with shape (\[[\d, ]+\]) to",
    ),
    Phrase(
        "does not matches the length of classes",
        "compare num_classes of the head, {0}, with the CLASSES of the data set, as a tuple with its comma: give both "
        "one number",
        r"num_classes`? \((\d+)\)",
    ),
    Phrase(
        "invalid input features shape",
        "the model takes {0} mel bins, and the features have {1}: make them with the processor of this model, as "
        "Whisper large-v3 takes 128 and the others 80, or update the program, whose bins may be fixed",
        r"expected an input with shape \(\d+, (\d+), \d+\), but got an input with shape \(\d+, (\d+), \d+\)",
        lambda wanted, given: wanted != given,
    ),
    Phrase(
        "exceeds nc=",
        "compare nc and names in the data file with the label files: class {0} is in the labels, and classes are "
        "numbered from 0 to nc - 1; find which of the two is of another data set",
        r"class (\d+) exceeds",
    ),
    Phrase(
        "to satisfy the constraint",
        "it is about the values, not the shape: print(torch.isnan(x).any(), x.min()) above; if it holds nan, lower the "
        "learning rate, clip the gradients, or look for nan in the data",
    ),
    Phrase(
        "does not match the given observation space",
        "print(obs.shape, env.observation_space): make reset and step return that shape and type, and reset (obs, "
        "info)",
    ),
    Phrase(
        "different number of output",
        "give both as many columns: print(y_true.shape, y_pred.shape); one-hot labels become class numbers by "
        "argmax(1)",
    ),
    Phrase(
        "non-empty list of tensors",
        "the list is empty: print its length before that line, and find why nothing was appended: no data, or no "
        "detection",
    ),
    Phrase(
        "same number of batches",
        "print(a.shape, b.shape) before that line: their first dims are {0} and {1}; make both from one batch, or if "
        "one is shared by all, repeat it, b.expand({0}, -1, -1)",
        r"got: (\d+) and (\d+)",
    ),
    Phrase("batch2 must be a 3d", "give bmm two tensors of 3 dims, (batch, n, k) and (batch, k, m), or write a @ b"),
    Phrase(
        "input (got",
        "print(x.shape) before that layer: it takes a {0} input and gets a {1} one; insert what is missing, x[None] or "
        "x[:, :, None], or take the layer for {1} inputs, as BatchNorm1d for (N, C)",
        r"expected (\dd(?: or \dd)?) input \(got (\dd) input",
    ),
    Phrase(
        "model expects",
        "if it is a picture, convert it to {0} channels, image.convert('RGB') or image.convert('L'), or build the "
        "first layer for {1}",
        r"expects (\d+) channels but got (\d+)",
    ),
    Phrase(
        "images do not match",
        "print(a.size, a.mode, b.size, b.mode): give both one size and mode, as b.convert(a.mode)",
    ),
    Phrase(
        "channel dimension of the inputs should be defined",
        "give Input its number of channels, as Input(shape=(None, None, 3)): a convolution needs it to build its "
        "weights",
    ),
    Phrase("duplicate labels", "make the labels unique first: df[~df.index.duplicated()], or reset_index(drop=True)"),
    Phrase(
        "incompatible shapes",
        "compare class numbers with class numbers: tf.argmax(predictions, -1)",
        r"\[(\d+),\d+\] vs\. \[\1\].{0,40}equal",
    ),
    Phrase(
        "shape of passed values",
        "print the index of each table before that line: if labels occur twice, joining side by side multiplies rows; "
        "make them unique, df[~df.index.duplicated()], or reset_index(drop=True) on all",
        r"concat",
    ),
    Phrase(
        "shape of passed values",
        "print the shape of the data, len(index) and len(columns) before that line: the data has {0},{1}, its labels "
        "are for {2},{3}; pandas before 1.0 prints (columns, rows), later ones (rows, columns)",
        r"is \((\d+), (\d+)\), indices imply \((\d+), (\d+)\)",
    ),
    Phrase("shape of passed values", "print the shape of the data, len(index) and len(columns) before that line"),
    Phrase(
        "columns must be same length as key",
        "give as many columns as names: print(values.shape); for str.split(..., expand=True), n=k limits them",
    ),
    Phrase(
        "arrays must be of the same length",
        "print({{name: len(value) for name, value in d.items()}}): find the list that is too long or short; if they "
        "differ on purpose, pd.DataFrame.from_dict(d, orient='index').T",
    ),
    Phrase("invalid shape (1, ", "drop the channel for a grey picture: imshow(x[0], cmap='gray')"),
    Phrase(
        "for image data",
        "put the channels last, x.transpose(1, 2, 0) or x.permute(1, 2, 0)",
        r"shape \([34], \d+, \d+\)",
    ),
    Phrase(
        "for image data", "show one picture of the batch: x[0], with its channels last", r"shape \(\d+(?:, \d+){3}\)"
    ),
    Phrase("for image data", "give (height, width), or (height, width, 3 or 4)"),
    Phrase("'c' argument has", "give c as many values as there are points: {0}", r"with size (\d+)"),
    Phrase(
        "sizes of input arguments do not match",
        "print(a.shape, a.dtype, b.shape, b.dtype): give both one size, number of channels and element type, by "
        "cv2.resize, cv2.cvtColor or astype",
    ),
    Phrase(
        "number of channels in input image",
        "skip the conversion: the picture is grey already; COLOR_GRAY2BGR makes 3 channels",
        r"'scn' is 1",
    ),
    Phrase(
        "number of channels in input image",
        "convert from {0} channels: 3 is BGR, 4 is BGRA, 1 is grey",
        r"'scn' is (\d)",
    ),
    Phrase("number of channels in input image", "print the picture's shape: 1 channel is grey, 3 are BGR, 4 are BGRA"),
    Phrase(
        "only batches of spatial targets",
        "the targets have the channels of a picture: if their colours are classes, map each to its number; if they are "
        "grey, read as RGB, take one channel, so that they are (N, H, W)",
        r"\[\d+, (?:[34], \d+, \d+|\d+, \d+, [34])\]",
    ),
    Phrase("only batches of spatial targets", "drop the channel of the targets: target.squeeze(1)", r"\[\d+, 1, "),
    Phrase(
        "only batches of spatial targets",
        "give class numbers of (N, H, W): target.argmax(1) if they are one-hot; print(target.shape)",
    ),
    Phrase(
        "pixel_shuffle expects",
        "compare the upscale factor with the layer before it, which gives {0} channels: they must be a multiple of {1}",
        r"size\(-3\)=(\d+) is not divisible by (\d+)",
    ),
    Phrase(
        "expected sequence of length",
        "pad the rows to one length: tokenizer(texts, padding=True), or a collator that pads every field, labels too",
    ),
    Phrase("blocks must be 2-d", "give hstack one list: hstack([a, b])", r"stack\((?!\[|\()"),
    Phrase("blocks must be 2-d", "give each block two dims: print their shapes; x.reshape(-1, 1) is a column"),
    Phrase(
        "do not add up to same value",
        "print the shape and the chunks of both before that line: along one axis, their chunks have different sums; "
        "give both one length there, and then the same chunks, x.rechunk(y.chunks)",
    ),
    Phrase("chunks do not align", "give both the same chunks: x.rechunk(y.chunks), or dask.array.unify_chunks"),
    Phrase("must be >= 16", "take blocks of 16 or more in each dim for tl.dot, and mask or pad what is smaller"),
    Phrase(
        "neither 'array op array'",
        "print both shapes, and make height, width and channels equal: cv2.resize, cv2.cvtColor, or x[..., :3]",
    ),
    Phrase(
        "for argument #2 'targets'",
        "give the lengths of the encoded labels: target_lengths says {0}, and targets has {1}",
        r"at least (\d+) at dimension \d+, but got size (\d+)",
        lambda needed, actual: actual < needed,
    ),
    Phrase(
        "for argument #2 'targets'",
        "print(log_probs.shape, targets.shape, target_lengths.max()): {1} is enough for {0}, so the two figures do not "
        "explain it; log_probs must be (time, batch, classes), and DataParallel joins outputs along dim 0, which is "
        "then the time: run it on one GPU, or with dim=1",
        r"at least (\d+) at dimension \d+, but got size (\d+)",
    ),
    Phrase(
        "input must have 3 dimensions, got 2",
        "insert the dim that is missing, x.unsqueeze(0) or (1): a recurrent layer takes (length, batch, features)",
    ),
    Phrase(
        "for unbatched 2-d input",
        "the input has 2 dims, so it is read as one sequence without a batch: give it the batch, x.unsqueeze(1), or "
        "x.unsqueeze(0) with batch_first; or give a state without a batch, (layers, hidden)",
    ),
    Phrase(
        "hx and cx should also be", "give h0 and c0 of (layers, batch, hidden): insert their batch, h0.unsqueeze(1)"
    ),
    Phrase(
        "hx should also be",
        "give h0 of (layers, batch, hidden): insert its batch, h0.unsqueeze(1), or if x is one sequence, drop its "
        "batch",
    ),
    Phrase(
        "expected hidden[",
        "insert the first dim of the state, its layers times directions: h.unsqueeze(0), for an LSTM h0 and c0 alike; "
        "its other dims agree",
        r"size \(1, (\d+), (\d+)\), got [\[(]+\1, \2[\])]",
    ),
    Phrase(
        "expected hidden[",
        "print(x.shape, h.shape) before that line: a batch of {0} is read from x, and h has {1}; the batch of x is at "
        "dim 1, with batch_first at dim 0: if x has {1} on its other axis, x.transpose(0, 1), or if it is one step, "
        "x[None], gives it the batch of h; if h was made for another batch, torch.zeros(layers, {0}, hidden)",
        r"size \(\d+, (\d+), \d+\), got [\[(]+\d+, (\d+), \d+[\])]",
        lambda wanted, given: wanted != given,
    ),
    Phrase(
        "expected hidden[",
        "print(x.shape, h.shape) before that line: the state is (layers*directions, batch, hidden), and the batch of x "
        "is at dim 1, with batch_first at dim 0; compare each with the message: either may be the wrong one",
    ),
    Phrase(
        "attn_mask is torch.size",
        "print(x.shape) before the attention: the mask is for {0} tokens, and {1} are read as the length, which may be "
        "the batch; if so, drop the permute before: open_clip's own transformer has the batch first since 2.26, or set "
        "its batch_first=False",
        r"attn_mask is torch\.size\(\[(?:\d+, )?(\d+), \d+\]\), but should be \((?:\d+, )?(\d+), \d+\)(?=.*open_clip)",
    ),
    Phrase(
        "attn_mask is torch.size",
        "print(x.shape) before the attention: the mask is for {0} tokens, and {1} are read as the length; if {1} is "
        "the batch, the two axes are swapped: batch_first and a permute before it disagree; if {1} is the length, "
        "build the mask for it",
        r"attn_mask is torch\.size\(\[(?:\d+, )?(\d+), \d+\]\), but should be \((?:\d+, )?(\d+), \d+\)",
    ),
    Phrase(
        "target",
        "print(target.min(), target.max()) and the number of outputs: {1} must be below it; if the labels begin with "
        "1, subtract 1; if they hold a value to ignore, as 255, ignore_index=255; if classes are missing, build the "
        "model for more than {1}",
        r"^(.*)target (\d+) is out of bounds",
    ),
    Phrase("feature_names mismatch", "give the columns of the training data in their order: data[model.feature_names]"),
    Phrase("features in booster", "give the columns that the model was trained on, in their order"),
    Phrase(
        "as it was in training data",
        "compare the columns of both: if one was read from LibSVM text, LightGBM counts its indices from 0, so indices "
        "from 1 make an empty column more: use one format for both; if both are tables, find the index, label or "
        "constant that one side has",
        r"data \((\d+)\) is not the same as it was in training data \((\d+)\)",
        lambda data, trained: abs(data - trained) == 1,
    ),
    Phrase("as it was in training data", "give the columns that the model was trained on, in their order"),
    Phrase(
        "valueerror: dimension mismatch",
        "if {0} is a sparse vector of SciPy, np.linalg.norm multiplies it by itself as a matrix: take "
        "scipy.sparse.linalg.norm({0})",
        r"linalg\.norm\((\w[\w.]*)\)",
    ),
    Phrase(
        "valueerror: dimension mismatch",
        "print both shapes: a vectorizer is fitted once, and then only transforms",
        r"vectori[sz]er|tf.?idf|transform\(|predict",
    ),
    Phrase(
        "valueerror: dimension mismatch",
        "print both shapes before that line: for sparse matrices of SciPy, * is the product of matrices, so the last "
        "dim of the first must equal the first of the second; element by element is a.multiply(b); features of "
        "texts come from one vectorizer, which is fitted once",
    ),
    Phrase(
        "num_channels_image",
        "the UNet takes {0} channels, and this pipeline gives {3}, {1} of the latents and {2} of the image: take the "
        "pipeline of the weights: 8 = 4+4 is StableDiffusionLatentUpscalePipeline, 7 = 4+3 "
        "StableDiffusionUpscalePipeline, and 9 = 4+4+1 inpainting",
        r"expects (\d+) but received `?num_channels_latents`?: (\d+) \+ `?num_channels_image`?: (\d+) = (\d+)",
    ),
    Phrase(
        "not consistent with target",
        "print what infer_shape of the operator returns, or the bound array: an expression of ({0}) is written into "
        "one of ({1})",
        r"eshape: \(([\d,]+)\) dshape:\(([\d,]+)\)",
    ),
    Phrase(
        "y should be a 1d array",
        "print(y.shape): give class numbers or one column, y.argmax(1) for one-hot labels, y.ravel() for a column",
    ),
    Phrase("n_components=", "take at most {0} components: the smaller of samples and features", r"\)=(\d+)"),
    Phrase("can't handle a mix of", "give both as class numbers: y.argmax(1) for one-hot or scores"),
    Phrase("unexpected observation shape (2,)", "take both values that reset returns: observation, info = env.reset()"),
    Phrase(
        "unexpected observation shape", "load the model that was trained on this environment, or apply its wrappers"
    ),
    Phrase(
        "observation spaces do not match", "load the model that was trained on this environment, or apply its wrappers"
    ),
    Phrase(
        "multi-target not supported",
        "print(target.shape): class numbers are (N,); target.argmax(1) for one-hot labels, target.squeeze(1) for a "
        "last dim of 1",
    ),
    Phrase(
        "to sum exactly to",
        "print(x.shape) before that line: the size of dim {1} is {0}, which the parts must sum to; if that dim "
        "is not the one to split, x has a dim too many or too few, or dim= is wrong; otherwise compute the parts from "
        "x.shape[{1}]",
        r"sum exactly to (\d+) \(input tensor's size at dimension (-?\d+)",
    ),
    Phrase(
        "tensor with more than one", "say which truth is meant: (a == b).all(), or .any(); combine masks with & and |"
    ),
    Phrase(
        "array with more than one element",
        "say which truth is meant: (a == b).all(), or .any(); combine masks with & and |",
    ),
    Phrase(
        "converted to scalar",
        "print(x.shape) before that line: a single value is expected; if more are right, x.tolist() or a loop; if one "
        "is meant, find why more come, or reduce it, x.mean()",
    ),
    Phrase(
        "arrays can be converted",
        "print(x.shape) before that line: a single value is expected; for all elements, x.astype(float); if one is "
        "meant, find why more come, or select it, x[0]",
    ),
    Phrase(
        "not enough values to unpack",
        "print the shape of what is split before that line: {0} parts are named, and {1} made; split takes the size of "
        "a part, chunk their number, and fewer come if that axis is shorter: find which size of it is right",
        r"expected (\d+), got (\d+)(?=.*\b(?:split|chunk)\()",
    ),
    Phrase(
        "not enough values to unpack",
        "print the value before that line: {0} names are given, and {1} values come; if it is a shape, find the line "
        "that dropped a dim, or insert a missing batch, x[None]; if it is a split or a chunk, that axis has another "
        "size than the code assumes; if it is a function, it returns {1} values in this version",
        r"expected (\d+), got (\d+)",
    ),
    Phrase(
        "too many values to unpack",
        "print the value before that line; if it is a shape, it has more dims than the {0} names: find the line that "
        "added one; if it is a batch of one sample, x[0]",
        r"expected (\d+)",
    ),
    Phrase(
        "list of batch should be of equal size",
        "give all samples of a batch one size, or write a collate_fn that pads them",
    ),
    Phrase(
        "should probably activate truncation",
        "pad the texts to one length: tokenizer(texts, padding=True, truncation=True)",
    ),
    Phrase(
        "tokens do not match",
        "the prompt holds no placeholder for {0} features: put the picture's token into the text, as by an item of "
        "type image in the messages and apply_chat_template, and give that text to the processor with images=",
        r"tokens: 0, features:? (\d+)",
    ),
    Phrase(
        "tokens do not match",
        "print((input_ids == image_token_id).sum()): the text has {0} placeholders for {1} features; if a text of the "
        "data, or a generated one, holds the token itself, remove it; if not, let the processor of this model insert "
        "one for each feature, with one version of both",
        r"tokens: (\d+), features:? (\d+)",
        lambda tokens, features: tokens > features,
    ),
    Phrase(
        "tokens do not match",
        "print((input_ids == image_token_id).sum()): the text has {0} placeholders for {1} features; if it is cut, as "
        "by truncation, max_length or cutoff_len, raise that limit or give smaller pictures; if not, let the processor "
        "of this model insert one for each feature, with one version of both",
        r"tokens: (\d+), features:? (\d+)",
    ),
    Phrase(
        "param_data.shape == loaded_weight.shape",
        "the loader asserts it without numbers: if the file is quantized, as bnb-4bit, whose weights are packed, name "
        "it, --quantization bitsandbytes, or load the original weights; if not, print(param_data.shape, "
        "loaded_weight.shape) there, and compare config.json with the file",
    ),
    Phrase(
        "doesn't match model (",
        "resize the picture to {0}, or let the model take another size: in timm create_model(..., img_size=...) or "
        "dynamic_img_size=True, in transformers interpolate_pos_encoding=True",
        r"match model \(([\d*x, ]+)\)",
    ),
    Phrase(
        "channel dimension of the pixel values",
        "print(pixel_values.shape): the channels are read at dim 1; if they are last, move them; if the picture is "
        "grey or has alpha, convert it to RGB",
    ),
    Phrase(
        "attention weights should be of size",
        "give queries, keys and the mask one number of tokens: a cache adds its tokens to the keys alone",
    ),
    Phrase("device-side assert", "run on the CPU to see it: most often a label or an index outside 0 to size - 1"),
    Phrase(
        "expected target size",
        "print(logits.shape, target.shape): the logits are ({0}, classes, {1}), so the loss wants a class number for "
        "each of {1} places, and one for each sample is given; if {1} counts the classes, they must be at dim 1: "
        "logits.transpose(1, 2), and for one label a sample, reduce the other dim first, as logits[:, -1]",
        r"size \(?\[?(\d+), (\d+)\]?\)?, got \D*\1\]",
    ),
    Phrase(
        "expected target size",
        "print(logits.shape, target.shape) before that line: the classes are read at dim 1; if the logits are "
        "(N, L, C), as for sequences, loss(logits.transpose(1, 2), target)",
        r"size \(?\[?(\d+), \d+\]?\)?, got \D*\1, ",
    ),
    Phrase(
        "update shape must be smaller",
        "print both shapes before that line: the update is longer than the operand; find which of the two is too long "
        "or short",
    ),
    Phrase(
        "element out of data bounds",
        "cut the tokens to the positions of the model, truncation=True; for words, use its tokenizer",
    ),
    Phrase(
        "not match model input size",
        "give one byte for each value, uint8: {0} = 4*{1}, as with float32",
        r"size (\d+) not match model input size (\d+)",
        lambda given, wanted: given == 4 * wanted,
    ),
    Phrase("not match model input size", "print x.shape and x.dtype: the product of the dims and the bytes must agree"),
    Phrase(
        "conflicting sizes for dimension",
        "give each axis its own name: one name stands for two axes",
        r"on <this-array> and length \d+ on '",
    ),
    Phrase(
        "dims.nbdims == 4 || dims.nbdims == 5",
        "fold the BatchNormalization of two dims into the layer before, or use a newer TensorRT",
    ),
    Phrase(
        "does not match network definition",
        "give a fixed dim one size, min=opt=max={0}, or export it as a free dim",
        r"min=opt=max=(\d+)",
    ),
    Phrase(
        "label size predict size not match",
        "give as many predictions as labels: {0} where {1} are expected; num_class is not for a ranker",
        r"\((\d+) vs\. (\d+)\)",
    ),
    Phrase(
        "dimensions of c",
        "give C of (len(Y), len(X)) for 'nearest', one less on each axis for 'flat': C is ({0}), X {1}, Y {2}",
        r"c \(([\d, ]+)\).{0,40}x \((\d+)\).{0,20}y \((\d+)\)",
    ),
    Phrase("roi.x + roi.width", "keep the rectangle inside the picture: x + width <= cols and y + height <= rows"),
    Phrase(
        "4-d or 5-d tensor. but received",
        "print(x.shape) before that layer: it takes a batch; if x is one picture, insert it, x[None]; if it is a batch "
        "of grey ones, x[:, None]",
        r"dimension is 3",
    ),
    Phrase(
        "storage that is not resizable", "give all samples of a batch one size, or write a collate_fn that pads them"
    ),
    Phrase("implicitly created only for scalar", "reduce the loss to one number: loss.mean().backward()"),
    Phrase(
        "only support head dimension",
        "features // heads must be at most {0}: if you train it, use more heads; if it is pretrained, take another "
        "attention",
        r"at most (\d+)",
    ),
    Phrase(
        "specified maximum sequence length",
        "cut the text: truncation=True, max_length={0}, or split it into windows",
        r"\(\d+ > (\d+)\)",
    ),
    Phrase(
        "must be divisible by num_groups",
        "print num_channels and num_groups where they are set: if the channels are right, choose num_groups from their "
        "divisors",
    ),
    Phrase("chunks do not add up to shape", "give chunks whose sum along each axis is its size, or chunks='auto'"),
    Phrase(
        "does not satisfy any optimization profiles",
        "give shapes between those of the range, or build the engine with --maxShapes that include this one",
    ),
    Phrase(
        "running_mean should contain",
        "print(x.shape) before that layer: it is built for {1} channels and its input has {0}: if {0} is right, build "
        "BatchNorm({0}); if the weights are loaded, find the layer before it that makes {0}",
        r"contain (\d+) elements not (\d+)",
    ),
    Phrase(
        "array split does not result", "use np.array_split, whose parts may be unequal, or pad that axis to a multiple"
    ),
    Phrase(
        "is not in [0,",
        "print the largest index before that line: the table has rows 0 to {1} - 1, and {0} is asked for; ids"
        " of words come from the tokenizer of this model, and Embedding(input_dim=...) must be the largest "
        "plus 1",
        r"= (-?\d+) is not in \[0, (\d+)\)",
    ),
    Phrase(
        "cannot batch tensors with different",
        "give all samples one shape before batch: tf.image.resize(x, (h, w)) for pictures, or "
        "dataset.padded_batch(n) for rows of different lengths",
    ),
    Phrase(
        "[tensor]:",
        "give all samples one shape before batch: tf.image.resize(x, (h, w)) for pictures, or "
        "dataset.padded_batch(n) for rows of different lengths",
    ),
    Phrase(
        "tensorarray's inferred element",
        "write values of one shape, or tf.TensorArray(..., infer_shape=False) if they differ on purpose",
    ),
    Phrase(
        "expected begin[",
        "the slice begins at {2} along dim {0}, which ends at {1}: print the shape and the begin of tf.slice "
        "before that line",
        r"begin\[(\d+)\] in \[0, (\d+)\], but got (-?\d+)",
    ),
    Phrase(
        "expected size[",
        "the slice takes {2} along dim {0}, where {1} are left: print the shape, the begin and the size of "
        "tf.slice before that line; -1 takes the rest",
        r"size\[(\d+)\] in \[0, (\d+)\], but got (-?\d+)",
    ),
    Phrase(
        "slice index",
        "print the shape before that line: index {0} is at or behind the end of dim {1}",
        r"slice index (-?\d+) of dimension (\d+)",
    ),
    Phrase(
        "target.ndim - 1",
        "the loss takes class numbers: take categorical_crossentropy for one-hot labels, or argmax(labels, -1)",
    ),
    Phrase(
        "same number of samples. got array",
        "print the shape of each input before that line: their first dims must be equal; make them from the same rows",
    ),
    Phrase(
        "weight file containing",
        "the file has {0} layers with weights, the model {1}: build the model by the code that saved the "
        "file, as with or without include_top, or load by_name=True",
        r"containing (\d+) layers into a model with (\d+)",
    ),
    Phrase(
        "zero-dimensional tensor",
        "numbers cannot be concatenated: torch.stack(list), or x.unsqueeze(0) for each before torch.cat",
    ),
    Phrase(
        "must be a matrix",
        "write a @ b, which takes batches, for torch.mm, or print both shapes and drop the dim that is too many",
    ),
    Phrase(
        "1d tensors expected",
        "dot takes two vectors: write a @ b for matrices, or (a * b).sum(-1) for rows",
    ),
    Phrase(
        "should be equal to source.size(dim)",
        "print(index.shape, source.shape) before that line: {0} indices are given for {1} rows of the source;"
        " give one for each",
        r"indices \((\d+)\) should be equal to source.size\(dim\): \((\d+)\)",
    ),
    Phrase(
        "expected index",
        "print(index.shape, x.shape) before that line: apart from the dim that is indexed, the index may be "
        "no larger than the tensor, and for scatter no larger than the source: slice it, or make it for this "
        "batch",
    ),
    Phrase(
        "non-zero dimensions for input",
        "print(x.shape) before the pooling: it takes (C, H, W) or (N, C, H, W), and none of C, H and W may be 0",
    ),
    Phrase(
        "pad should be at most half",
        "give the pooling a padding of at most half its kernel: padding=kernel_size // 2",
    ),
    Phrase(
        "output sizes should be greater than 0",
        "print(x.shape) before that line: a side is 0, as after a crop or a box outside of the picture; clip "
        "it, or skip the empty ones",
    ),
    Phrase(
        "classes or no classes",
        "give weight= of the loss one value for each class: the predictions have {0}, weight has {1}; "
        "print(logits.shape, weight.shape)",
        r"for all (\d+) classes.*shape: \[(\d+)\]",
    ),
    Phrase(
        "batch or spatial sizes",
        "print(logits.shape, target.shape) before that line: if the sides differ, F.interpolate(logits, "
        "size=target.shape[-2:], mode='bilinear'); if the batches differ, find the line that changes one",
    ),
    Phrase(
        "size mismatch (got input",
        "print(logits.shape, target.shape) before that line: with logits of (N, C, H, W), the target is class"
        " numbers of (N, H, W); resize the one to the other, F.interpolate(logits, size=target.shape[-2:])",
    ),
    Phrase(
        "target with class prob",
        "the target has the shape of the predictions, so it is read as probabilities: class numbers have one "
        "dim less, target.squeeze(1) or target.argmax(1); probabilities are floats, target.float()",
    ),
    Phrase(
        "expected input_lengths",
        "print(log_probs.shape, input_lengths) before that line: log_probs of (time, batch, classes) has {0} "
        "steps, and {1} are named; divide the lengths by the strides of the network, or move the time to dim "
        "0",
        r"at most (\d+), but got value (\d+)",
    ),
    Phrase(
        "number of channels in input, but got weight",
        "print(x.shape) before that line: dim 1 is its channels, and the normalization was built for the "
        "length of its weight; build it for the channels of x, or find the layer before that makes others",
    ),
    Phrase(
        "divisible by num_groups, but",
        "{0} channels are no multiple of {1} groups: choose num_groups from the divisors of {0}, or a width "
        "that is a multiple of {1}",
        r"shape \[\d+, (\d+)[,\d ]*\] and num_groups=(\d+)",
    ),
    Phrase(
        "weight should contain",
        "print(x.shape) before that layer: the input has {0} channels, and the normalization was built for {1}: if {0} "
        "is right, build it for {0}; if not, find the layer before it that makes {0}",
        r"contain (\d+) elements not (\d+)",
    ),
    Phrase(
        "key shape",
        "print(key.shape, value.shape) before that line: give both from one tensor, or make their lengths and"
        " batches equal",
    ),
    Phrase(
        "sequence and batch dims",
        "print(key.shape, value.shape) before that line: their first two dims must be equal; give both from one tensor",
    ),
    Phrase(
        "expecting key_padding_mask",
        "print(key.shape, mask.shape) before that line: the mask is (batch, keys), {0} here, and ({1}) is "
        "given; if the two are swapped, mask.t(), or batch_first is not as you think",
        r"shape of (\([\d, ]+\)), but got \D*([\d, ]+)",
    ),
    Phrase(
        "query should be unbatched",
        "give the attention (length, batch, features), or (batch, length, features) with batch_first: flatten"
        " the height and the width of maps, x.flatten(2).transpose(1, 2), and leave the split into heads to "
        "it",
    ),
    Phrase(
        "and `value` to be",
        "print(query.shape, key.shape, value.shape) before that line: all three have a batch, or none; insert"
        " it, x.unsqueeze(0) with batch_first, or x.unsqueeze(1)",
    ),
    Phrase(
        "expected hidden size",
        "print(x.shape, h.shape) before that line: the state is (layers*directions, batch, hidden), ({0}) "
        "here, and [{1}] is given; the batch of x is at dim 1, with batch_first at dim 0: if x has it on the other "
        "axis, x.transpose(0, 1); if h was made for another batch, make it for this one",
        r"hidden size \(([\d, ]+)\), got \[([\d, ]+)\]",
    ),
    Phrase(
        "to be 2d or 3d",
        "give the recurrent layer (batch, length, features) with batch_first, (length, batch, features) "
        "without: for maps x.flatten(2).transpose(1, 2), and drop a dim of 1",
    ),
    Phrase(
        "doesn't match hidden",
        "print(x.shape, h.shape) before that line: the input has {0} samples, the state {1}; if {0} is the batch, make "
        "the state for it, torch.zeros(x.size(0), hidden); if not, the axes of x are swapped",
        r"batch size (\d+) doesn't match hidden\d? batch size (\d+)",
    ),
    Phrase(
        "same number of columns. x1",
        "print both shapes before that line: cdist pairs points of one dimension, and they have {0} and {1} "
        "coordinates; take the same columns of both",
        r"x1: (\d+) x2: (\d+)",
    ),
    Phrase(
        "maximum size for tensor at dim",
        "print(x.shape) before that line: unfold takes windows of {1} where {0} are: it may be the wrong axis, or a "
        "short sample; if it is right, pad to {1}",
        r"is (\d+) but size is (\d+)",
    ),
    Phrase(
        "last dimension of size 2",
        "view_as_complex takes real and imaginary parts as the last dim of 2: torch.stack((re, im), -1), or "
        "x.reshape(*x.shape[:-1], -1, 2) for pairs; a complex tensor needs none of it",
    ),
    Phrase(
        "size mismatch between tensors",
        "print([t.shape for t in the arguments of TensorDataset]): their first dims must be equal; make "
        "inputs and labels from the same rows",
    ),
    Phrase(
        "of shape [n, 4], got",
        "give each picture boxes of (N, 4), x1 y1 x2 y2: if a picture has none, torch.zeros((0, 4)), and "
        "labels torch.zeros(0, dtype=torch.int64), or leave it out",
    ),
    Phrase(
        "list of 3d tensors",
        "give the detector a list of pictures without a batch: model([x[0]]) or model(list(x)) for x of (N, C, H, W)",
    ),
    Phrase(
        "is larger than input image size",
        "resize the picture before the crop, or RandomCrop(..., pad_if_needed=True): {0} is asked of {1}",
        r"crop size (\([\d, ]+\)) is larger than input image size (\([\d, ]+\))",
    ),
    Phrase(
        "pic should be 2/3",
        "give to_pil_image and ToTensor one picture: x[0] of a batch, x.squeeze(0)",
    ),
    Phrase(
        "tensor image of size",
        "Normalize takes (C, H, W): insert the channel, x[None], or read the picture in colour",
    ),
    Phrase(
        "predictions and targets are expected to have",
        "print(preds.shape, target.shape) before that line: the metric takes one shape: preds.squeeze(-1) for a last "
        "dim of 1, preds.argmax(1) for scores of classes",
    ),
    Phrase(
        "to have the same first dim",
        "print(preds.shape, target.shape) before that line: both have a row for each sample; flatten both "
        "alike, or look for a sample that only one of them has",
    ),
    Phrase(
        "cannot handle this data type",
        "Image.fromarray takes (height, width), or (height, width, 3 or 4), of uint8: (x * "
        "255).astype('uint8') for floats from 0 to 1, x.transpose(1, 2, 0) for channels first, x[..., 0] for "
        "a last dim of 1",
    ),
    Phrase(
        "not a multiple of the number",
        "choose a number of heads that divides the hidden size, or a hidden size that is a multiple of the heads",
    ),
    Phrase(
        "wrong shape for input_ids",
        "insert the batch: input_ids.unsqueeze(0), attention_mask.unsqueeze(0), or tokenizer(text, "
        "return_tensors='pt')",
    ),
    Phrase(
        "divisible by patch size",
        "resize or pad the picture so that its sides are multiples of {0}, or create_model(..., "
        "dynamic_img_pad=True) in timm",
        r"patch size \((\d+)\)",
    ),
    Phrase(
        "have to be divisible by",
        "give height and width that are multiples of {0}: {1} and {2} are asked for",
        r"divisible by `?(\d+)`? but are (\d+) and (\d+)",
    ),
    Phrase(
        "negative_prompt_embeds",
        "pad the shorter of the two prompts to the tokens of the longer before they are encoded, or encode "
        "both by one call: with compel, pad_conditioning_tensors_to_same_length",
    ),
    Phrase(
        "unexpected latents shape",
        "latents are the picture / 8: give the pipeline the height and width of the latents times 8, or make "
        "latents for its own",
    ),
    Phrase(
        "encountered tensor with size",
        "print(x.shape, edge_index.max()) before that line: one tensor has {0} rows where {1} nodes are "
        "known; give x a row for each node, and number the nodes from 0",
        r"size (\d+) in dimension \d+, but expected size (\d+)",
    ),
    Phrase(
        "expect number of features to match",
        "give one row for each node or edge: {0} are given for {1}; print(g.num_nodes(), g.num_edges(), "
        "feat.shape): nodes without edges count if dgl.graph(..., num_nodes=n) says so",
        r"got (\d+) and (\d+) instead",
    ),
    Phrase(
        "< n_fft <",
        "print(x.shape) before that line: {0} samples are there, and a window takes {1}: if dim -1 is "
        "channels or the audio is too short, transpose or pad it",
        r"n_fft < (\d+), but got n_fft=(\d+)",
    ),
    Phrase(
        "has invalid shape",
        "DataParallel joins what each GPU returns, and dims other than 0 differ: pad the outputs to one size "
        "in forward, as for texts of different lengths, or run it on one GPU",
    ),
    Phrase(
        "gather got an input",
        "DataParallel joins what each GPU returns, and dims other than 0 differ: pad the outputs to one size "
        "in forward, or run it on one GPU",
    ),
    Phrase(
        "tensor parallel size (",
        "choose a tensor parallel size that divides the {0} heads: {1} does not",
        r"heads \((\d+)\) must be divisible by tensor parallel size \((\d+)\)",
    ),
    Phrase(
        "too large tensor parallel size",
        "take a smaller tensor parallel size: each part of a quantized weight must be a multiple of its group size",
    ),
    Phrase(
        "is not divisible by",
        "{0} is no multiple of {1}: if {1} is a tensor parallel size or a number of groups, choose one that "
        "divides {0}",
        r"(\d+) is not divisible by (\d+)",
    ),
    Phrase(
        "heads in key/value",
        "print(q.shape, k.shape) before that line: the heads of the query must be a multiple of those of the keys",
    ),
    Phrase(
        "its rank should be at least",
        "one argument of vmap has no axis to map: in_axes=None for it, or give it a row for each sample",
    ),
    Phrase(
        "by the corresponding mesh axis sizes",
        "axis {0} has {1}, and {2} devices share it: give it a multiple of {2}, as by a batch of {2} or by dropping "
        "the last smaller batch, or leave that axis out of the PartitionSpec",
        r"maps array axis (\d+) \(of size (\d+)\).{0,100}?size (\d+)\)?, but",
    ),
    Phrase(
        "by the corresponding mesh axis sizes",
        "give each axis a multiple of the devices that share it, as by dropping the last smaller batch, or leave it "
        "out of the PartitionSpec",
    ),
    Phrase(
        "was given the sharding",
        "dim {0} is {2}, and {1} devices share it: take a batch that is a multiple of {1}, or a PartitionSpec"
        " without that axis",
        r"dimension (\d+) should be divisible by (\d+), but it is equal to (\d+)",
    ),
    Phrase(
        "scalar-output functions",
        "return one number: loss.mean(), or jax.vmap(jax.grad(f)) for a gradient of each sample, jax.jacobian"
        " for all outputs",
    ),
    Phrase(
        "arrays have different shapes",
        "print both shapes before the call that asserts it: the two must be made for the same batch and features",
    ),
    Phrase(
        "object too deep",
        "give it a vector: x.ravel() or x[:, 0], as np.convolve, np.interp and np.bincount take one dim",
    ),
    Phrase(
        "object of too small depth",
        "give it an array of one dim, not a number: np.atleast_1d(x)",
    ),
    Phrase(
        "'a' and 'p'",
        "give p one value for each item of a: print(len(a), len(p)) before that line; if a is a number, p has"
        " that many",
    ),
    Phrase(
        "a must be 1-dim",
        "np.random.choice takes a list of one dim: choose an index, x[np.random.choice(len(x))]",
        r"(?<![a-z])a must be 1-dim",
    ),
    Phrase(
        "linalgerror: incompatible dim",
        "print(a.shape, b.shape) before that line: lstsq takes as many rows in both",
    ),
    Phrase(
        "expected 1d or 2d array",
        "np.savetxt writes tables: x.reshape(len(x), -1), or np.save for any shape",
    ),
    Phrase(
        "number of columns changed",
        "row {2} has {1} columns where the rows before have {0}: look at that line of the file, or usecols",
        r"from (\d+) to (\d+) at row (\d+)",
    ),
    Phrase(
        "length of weights",
        "give one weight for each item along the axis: print(x.shape, len(weights), axis)",
    ),
    Phrase(
        "along interpolation axis",
        "print(x.shape, y.shape) before that line: x has one value for each index of y along axis, which is "
        "-1 unless it is given",
    ),
    Phrase(
        "valueerror: inconsistent shapes",
        "print both shapes before that line: sparse matrices add only with equal shapes; one fitted "
        "vectorizer or one number of columns for both",
    ),
    Phrase(
        "same number of columns (i.e.",
        "print both shapes before that line: cdist takes points of one dimension; x[None] for a single point,"
        " or the same columns of both",
    ),
    Phrase(
        "func input vector length",
        "give at least as many data points as parameters: {0} parameters are fitted to {1} values; return the"
        " residuals of all points, not their sum",
        r"n=(\d+) must not exceed func output vector length m=(\d+)",
    ),
    Phrase(
        "must be greater than padlen",
        "filtfilt needs more than {0} samples along axis: print(x.shape), and give axis=0 if the time is "
        "first, or padlen=0",
        r"padlen, which is (\d+)",
    ),
    Phrase(
        "sample(s)",
        "print(X.shape) before that line: {0} samples are there, {1} are needed; if the data lies in one row,"
        " transpose it, x.reshape(-1, 1)",
        r"with ([1-9]\d*) sample\(s\).*minimum of (\d+) is",
    ),
    Phrase(
        "feature(s)",
        "print(X.columns) before that line: no column is left, as after a selection by type or name",
    ),
    Phrase(
        "size of target_names",
        "the labels and predictions hold {0} classes, and {1} names are given: name each, or labels=range(n) "
        "for those that do not occur",
        r"classes, (\d+), does not match size of target_names, (\d+)",
    ),
    Phrase(
        "feature names should match",
        "give the columns of the fit in their order: X[model.feature_names_in_]",
    ),
    Phrase(
        "query data dimension",
        "print(X.shape, query.shape) before that line: a query has the columns of the fitted data; "
        "x.reshape(1, -1) for one point",
    ),
    Phrase(
        "valid collection",
        "a single number or None is given where a list is: print(type(x), np.shape(x)) before that line",
    ),
    Phrase(
        "sample_weight.shape",
        "give one weight for each sample of this part: split the weights along with X and y",
    ),
    Phrase(
        "should be >=",
        "{0} samples are given for {1} clusters: print(X.shape), and take at most {0}",
        r"n_samples=(\d+) should be >= n_clusters=(\d+)",
    ),
    Phrase(
        "unalignable boolean series",
        "make the mask from the table that it selects from, or take its values: df[mask.values], if the rows "
        "are the same in number and order",
    ),
    Phrase(
        "equal len keys",
        "print the selection and the length of the value before that line: a list is set item by item; for "
        "one cell, df.at[row, column] = value with an object column",
    ),
    Phrase(
        "different length than the value",
        "print(mask.sum(), len(values)) before that line: give one value for each selected row",
    ),
    Phrase(
        "grouper and axis",
        "group by a column of this table, df.groupby('name'), or give one key for each of its rows",
    ),
    Phrase(
        "one fewer than the number",
        "n + 1 edges make n bins: drop a label, or add an edge",
    ),
    Phrase(
        "identically-labeled",
        "compare values, a.values == b.values, if the rows are in one order, or align them, a.align(b), after"
        " sort_index(); print both lengths",
    ),
    Phrase(
        "lengths must match to compare",
        "compare with a value for each row, or isin for membership: df[col].isin(values)",
    ),
    Phrase(
        "arrays must all be",
        "print({{name: len(value) for name, value in d.items()}}): find the list that is too long or short; if they "
        "differ on purpose, pd.DataFrame.from_dict(d, orient='index').T",
    ),
    Phrase(
        "length of passed values",
        "{0} values are given for an index of {1}: give one for each label, or leave index out",
        r"values is (\d+), index implies (\d+)",
    ),
    Phrase(
        "to the single column",
        "print(value.columns) before that line: select one of its columns, or name as many on the left, "
        "df[['a', 'b']] = value",
    ),
    Phrase(
        "fields in line",
        "line {1} of the file has {2} fields where {0} are expected: look at it: another separator, sep=';', "
        "a comma in a text without quotes, or lines above the header, skiprows=; on_bad_lines='skip' drops it",
        r"expected (\d+) fields in line (\d+), saw (\d+)",
    ),
    Phrase(
        "columns passed, passed data",
        "{0} names are given for {1} columns: print the first row of the data before that line, and name each",
        r"(\d+) columns passed, passed data had (\d+)",
    ),
    Phrase(
        "mismatched lengths for dim",
        "both name one dim and differ along it: print(a.sizes, b.sizes), and select the same part, isel or "
        "sel, or give both coordinates so that they are aligned",
    ),
    Phrase(
        "!ssize.empty()",
        "the picture is empty: print(x is None, path) before that line: imread returns None for a path that "
        "is wrong or a file it cannot read; a crop may be empty too",
    ),
    Phrase(
        "!_src.empty()",
        "the picture is empty: print(x is None, path) before that line: imread returns None for a path that "
        "is wrong or a file it cannot read, and a camera for no frame",
    ),
    Phrase(
        "size.width>0",
        "the picture is empty: print(x is None, path) before that line: imread returns None for a path that "
        "is wrong, and a camera for no frame",
    ),
    Phrase(
        "mask.depth()",
        "print(img.shape, mask.shape, mask.dtype) before that line: copyTo takes a mask of uint8 with 1 channel, or "
        "with as many as the picture: mask.astype('uint8'), or read it in grey",
    ),
    Phrase(
        "_mask.samesize",
        "print(img.shape, mask.shape, mask.dtype) before that line: the mask has one channel of uint8 and the"
        " height and width of the picture",
    ),
    Phrase(
        "_templ.size()",
        "print(img.shape, templ.shape) before that line: the template may not be larger than the picture on "
        "either side, and both need one type and number of channels",
    ),
    Phrase(
        "src[0].rows",
        "give all pictures one height, type and number of channels: cv2.resize, cv2.cvtColor, before hconcat",
    ),
    Phrase(
        "layout of the output array",
        "print(img.shape, img.dtype, img.flags['C_CONTIGUOUS']) before that line: np.ascontiguousarray(img), "
        "uint8, with the channels last",
    ),
    Phrase(
        "size of selected axis",
        "the sizes of the split are fixed in the file and sum to {2}, along axis {0} of ({1}): give the model"
        " the size with which it was exported, or export it again with that axis dynamic",
        r"axis=(-?\d+) input shape=\{([\d,]+)\}.*axis\) was (\d+)",
    ),
    Phrase(
        "size of byte buffer",
        "print the capacity of the buffer and the shape: a float needs 4 bytes, so allocate 4*N for float32, "
        "N for uint8, and give the tensor the type of the model",
    ),
    Phrase(
        "found query shape",
        "print(q.shape, k.shape) before that line: both need one head size, the last dim: hidden size / "
        "heads, or head_dim in config.json",
    ),
    Phrase(
        "found n_heads",
        "{0} query heads are no multiple of {1} key heads: compare num_attention_heads and "
        "num_key_value_heads in config.json with the shapes of the weights",
        r"n_heads (\d+) for n_kv_heads (\d+)",
    ),
    Phrase(
        "last dimension of x but has",
        "print(x.shape) before that line: its last dim must be {0}, for which the layer was built",
        r"but has (\d+) elements",
    ),
    Phrase(
        "ggml_can_mul_mat",
        "two tensors of the model file do not multiply: update the program, and take files of one model: an "
        "adapter, a projector (mmproj), a text encoder or a draft model of another one fails here; print "
        "their metadata, gguf-dump FILE",
    ),
    Phrase(
        "ggml_can_repeat",
        "two tensors of the model file do not fit: update the program, and take files of one model, as the "
        "model and its adapter, projector (mmproj) or VAE",
    ),
    Phrase(
        "wrong number of tensors",
        "the file has {0} tensors and the loader uses {1}: update the program, or convert the model again by "
        "the script of this version: the file is of a newer or older form (rope_freqs, tied embeddings)",
        r"expected (\d+), got (\d+)",
    ),
    Phrase(
        "wrong shape in model ",
        "take the model, the VAE, the text encoders and the adapters of one family, and update the program: "
        "of a VAE, 4 latent channels are Stable Diffusion 1, 2 and XL, 16 are Flux and Stable Diffusion 3",
    ),
    Phrase(
        "feature shape mismatch",
        "give the columns of the training in their order: {0} were trained, {1} are given; X[model.feature_names_in_]",
        r"expected: (\d+), got (\d+)",
    ),
    Phrase(
        "length of labels differs",
        "print(X.shape, len(y)) before that line: make both from the same rows",
    ),
    Phrase(
        "expected length",
        "column {0} has {2} items where the others have {1}: in a batched map, return as many items for each "
        "column, or remove_columns= those of the old rows",
        r"named (\S+) expected length (\d+) but got length (\d+)",
    ),
    Phrase(
        "input images must have",
        "print both shapes before that line: give both one height, width and number of channels: cv2.resize, "
        "or convert('RGB')",
    ),
    Phrase(
        "win_size exceeds",
        "structural_similarity takes windows of 7: name the channel axis, channel_axis=-1, as it else counts "
        "as a side, or give an odd win_size that is no larger than the picture",
    ),
    Phrase(
        "along `channel_axis`",
        "drop the alpha channel, x[..., :3] or rgba2rgb(x), or make a grey picture one of 3 channels, gray2rgb(x)",
    ),
    Phrase(
        "image, mask or masks",
        "print(image.shape, mask.shape) before that line: resize the mask to the picture, cv2.resize(mask, "
        "(w, h), interpolation=cv2.INTER_NEAREST), and give both with the channels last",
    ),
    Phrase(
        "incompatible sizes: argument",
        "give as many values as there are bars: {0} must have {1}; print both lengths",
        r"argument '(\w+)' must be length (\d+)",
    ),
    Phrase(
        "fixedlocator locations",
        "{0} ticks are there, and {1} labels are given: set both, ax.set_xticks(range(len(labels)), labels)",
        r"locations \((\d+)\).*labels \((\d+)\)",
    ),
    Phrase(
        "number of columns in z",
        "Z is (len(y), len(x)): its columns follow x; write contour(x, y, Z.T) if it is the other way",
    ),
    Phrase(
        "argument z must be",
        "make a grid: X, Y = np.meshgrid(x, y), and Z of (len(y), len(x)), Z.reshape(X.shape); for scattered "
        "points plot_trisurf",
    ),
    Phrase(
        "previously-processed",
        "give x, y and the others one length: print their lengths before that line",
    ),
    Phrase(
        "endog and exog",
        "print(y.shape, X.shape) before that line: both need as many rows; drop missing values from both together",
    ),
    Phrase(
        "all images in a movie",
        "resize all frames to one size: print([f.shape for f in frames]) before that line",
    ),
)
"""The known wordings; the step of the first match is returned."""


def find_first_step(quote: str, nearby_text: str = "") -> str:
    """Return the advice for a message with a known wording, or an empty string.

    The words of a row must be in the quote; its expression may also match the text around the message.

    >>> find_first_step("TypeError: Invalid shape (3, 8, 8) for image data")
    'put the channels last, x.transpose(1, 2, 0) or x.permute(1, 2, 0)'
    """
    text = quote.lower()
    for phrase in PHRASES:
        if match := phrase.match(text, f"{text} {nearby_text.lower()}"):
            return phrase.step.format(*match.groups())
    return ""
