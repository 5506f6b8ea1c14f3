"""Advice for messages with a known wording.

Each row of `PHRASES` pairs a wording with a step for the user. The groups of its expression are inserted into the step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Phrase(NamedTuple):
    """A wording of messages, with a step for the user."""

    words: str
    """A lower-case part of the message, which is searched before the expression."""
    step: str
    """The step for the user; `{0}`, `{1}` and so on are the groups of the expression."""
    expression: str = ""
    """A regular expression that must match the lower-case text; empty if `words` suffices."""
    applies: Callable[..., bool] | None = None
    """A condition on the numbers that the groups match, or None."""

    def match(self, quote: str, text: str) -> re.Match[str] | None:
        """Return the match of the expression, or None if the row does not apply; both texts are in lower case."""
        match = re.search(self.expression, text) if self.words in quote else None
        return match if match and (self.applies is None or self.applies(*map(int, match.groups()))) else None


PHRASES = (
    Phrase(
        "index tensor must have the same number of dim",
        "give the index as many dims as the tensor: x.gather(1, index.unsqueeze(1)) for one index a row, index[:, "
        "None]",
    ),
    Phrase(
        "height of conv must be 1", "resize the pictures to the height for which the network was made, often imgH=32"
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
        "{1} are taken from {0} on, and the dim has {2}: cut the sequence to {2}, or build the buffer for its length",
        r"start \((\d+)\) \+ length \((\d+)\) exceeds dimension size \((\d+)\)",
    ),
    Phrase(
        "tensor expected for input",
        "print(x.shape) before the pooling: it takes (C, H, W) or (N, C, H, W), and none may be 0",
    ),
    Phrase("only supports at least 2d", "insert the missing dim, x[None], so that each row is a point"),
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
        "bad input shape (", "give class numbers of shape (n,): y.argmax(1) for one-hot labels, y.ravel() for a column"
    ),
    Phrase("per-column arrays must each be", "give each column one dim: x.ravel(), or list(x) for rows of arrays"),
    Phrase("if using all scalar values", "give lists, or one row: pd.DataFrame([d]), or pd.DataFrame(d, index=[0])"),
    Phrase(
        "buffer has wrong number of dimensions",
        "give it {0} dim where {1} are: x.ravel(), x.squeeze() or x[:, 0]",
        r"expected (\d), got (\d)",
    ),
    Phrase(
        "cannot copy sequence with size",
        "give all rows {1} items: one has {0}; print([len(row) for row in rows])",
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
        "set num_classes of the head to the number of classes of the data: {0} is configured",
        r"num_classes`? \((\d+)\)",
    ),
    Phrase(
        "exceeds nc=",
        "number the classes in the label files from 0 to nc - 1, or raise nc in the data file: class {0} is in the "
        "labels",
        r"class (\d+) exceeds",
    ),
    Phrase(
        "to satisfy the constraint",
        "the shape is right: the tensor holds nan; print(torch.isnan(x).any()) above, and lower the learning rate",
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
        "print(a.shape, b.shape) before that line: their first dims are {0} and {1}; repeat the one that is shared, "
        "b.expand({0}, -1, -1), or make both from one batch",
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
        "convert the picture to {0} channels, image.convert('RGB') or image.convert('L'), or build the first layer "
        "for {1}",
        r"expects (\d+) channels but got (\d+)",
    ),
    Phrase("images do not match", "give both pictures one size and mode: b.resize(a.size).convert(a.mode)"),
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
        "bring the lists to one length, or pd.DataFrame.from_dict(d, orient='index').T",
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
        "give both one size, number of channels and element type: cv2.resize, cv2.cvtColor, x.astype('uint8')",
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
        "the targets are masks in colour: map each colour to its class number, so that they are (N, H, W)",
        r"\[\d+, (?:[34], \d+, \d+|\d+, \d+, [34])\]",
    ),
    Phrase("only batches of spatial targets", "drop the channel of the targets: target.squeeze(1)", r"\[\d+, 1, "),
    Phrase(
        "only batches of spatial targets",
        "give class numbers of (N, H, W): target.argmax(1) if they are one-hot; print(target.shape)",
    ),
    Phrase(
        "pixel_shuffle expects",
        "let the layer before it give C*{1} channels, a multiple of {1}: it gives {0}",
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
    Phrase("hx should also be", "give h0 of (layers, batch, hidden): insert its batch, h0.unsqueeze(1)"),
    Phrase(
        "expected hidden[",
        "insert the first dim of the state, its layers times directions: h.unsqueeze(0), for an LSTM h0 and c0 alike; "
        "its other dims agree",
        r"size \(1, (\d+), (\d+)\), got [\[(]+\1, \2[\])]",
    ),
    Phrase(
        "expected hidden[",
        "make the state for the batch at hand: torch.zeros(layers, x.size(0), hidden); x.size(1) if not batch_first",
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
        "number the labels from 0 to classes - 1: subtract 1 if they begin with 1, or build the model for more than "
        "{1} classes",
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
        "give class numbers or one column: y.argmax(1) for one-hot labels, y.ravel() for a column",
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
        "give class numbers of shape (N,): target.argmax(1) for one-hot labels, target.squeeze(1)",
    ),
    Phrase("to sum exactly to", "let the sizes sum to {0}, or give one size for all parts", r"sum exactly to (\d+)"),
    Phrase(
        "tensor with more than one", "say which truth is meant: (a == b).all(), or .any(); combine masks with & and |"
    ),
    Phrase(
        "array with more than one element",
        "say which truth is meant: (a == b).all(), or .any(); combine masks with & and |",
    ),
    Phrase("converted to scalar", "reduce it or select one: x.mean(), x[0]; for a list x.tolist()"),
    Phrase("arrays can be converted", "reduce it or select one: x.mean(), x[0]; for all elements x.astype(float)"),
    Phrase(
        "not enough values to unpack",
        "if it is a shape: {1} dims where {0} are named: insert the batch, x[None], or drop a name",
        r"expected (\d+), got (\d+)",
    ),
    Phrase(
        "too many values to unpack",
        "if it is a shape: it has more dims than the {0} names: select x[0], or name them all",
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
        "image features and image tokens",
        "let the processor of this model insert the placeholders, one for each feature; use one version for both",
    ),
    Phrase(
        "doesn't match model (",
        "resize the picture to {0}, or let the model take another size: in timm create_model(..., img_size=...) or "
        "dynamic_img_size=True, in transformers interpolate_pos_encoding=True",
        r"match model \(([\d*x, ]+)\)",
    ),
    Phrase(
        "channel dimension of the pixel values", "convert the picture to RGB, or set num_channels in the configuration"
    ),
    Phrase(
        "attention weights should be of size",
        "give queries, keys and the mask one number of tokens: a cache adds its tokens to the keys alone",
    ),
    Phrase("device-side assert", "run on the CPU to see it: most often a label or an index outside 0 to size - 1"),
    Phrase(
        "expected target size",
        "put the classes at dim 1: loss(logits.transpose(1, 2), target) for sequences",
        r"size \(?\[?(\d+), \d+\]?\)?, got \D*\1, ",
    ),
    Phrase("update shape must be smaller", "make the update no longer than the operand: slice it, update[:n]"),
    Phrase(
        "element out of data bounds",
        "cut the tokens to the positions of the model, truncation=True; for words, use its tokenizer",
    ),
    Phrase("not match model input size", "give one byte for each value, uint8: 4 bytes a value are float32"),
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
    Phrase("4-d or 5-d tensor. but received", "insert the batch dim, x[None]", r"dimension is 3"),
    Phrase(
        "storage that is not resizable", "give all samples of a batch one size, or write a collate_fn that pads them"
    ),
    Phrase("implicitly created only for scalar", "reduce the loss to one number: loss.mean().backward()"),
    Phrase("only support head dimension", "use more heads: features // heads must be at most {0}", r"at most (\d+)"),
    Phrase(
        "specified maximum sequence length",
        "cut the text: truncation=True, max_length={0}, or split it into windows",
        r"\(\d+ > (\d+)\)",
    ),
    Phrase("must be divisible by num_groups", "choose num_groups from the divisors of num_channels"),
    Phrase("chunks do not add up to shape", "give chunks whose sum along each axis is its size, or chunks='auto'"),
    Phrase(
        "does not satisfy any optimization profiles",
        "give shapes between those of the range, or build the engine with --maxShapes that include this one",
    ),
    Phrase(
        "running_mean should contain",
        "the layer is built for {1} channels and its input has {0}: build BatchNorm({0}), or let the layer before it "
        "give {1}",
        r"contain (\d+) elements not (\d+)",
    ),
    Phrase(
        "array split does not result", "use np.array_split, whose parts may be unequal, or pad that axis to a multiple"
    ),
)
"""The known wordings; the first that matches gives the step."""


def find_first_step(quote: str, nearby_text: str = "") -> str:
    """Return the step for a message with a known wording, or an empty string.

    The words of a row must be in the quote; its expression may also match the text around the message.

    >>> find_first_step("TypeError: Invalid shape (3, 8, 8) for image data")
    'put the channels last, x.transpose(1, 2, 0) or x.permute(1, 2, 0)'
    """
    text = quote.lower()
    for phrase in PHRASES:
        if match := phrase.match(text, f"{text} {nearby_text.lower()}"):
            return phrase.step.format(*match.groups())
    return ""
