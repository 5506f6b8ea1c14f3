"""Sentences of array libraries: NumPy, Dask, PyTorch, JAX, einops. CuPy and others repeat NumPy's."""

from __future__ import annotations

from shapecalc.doctor.sentence import Sentence

NUMPY = "NumPy 1.11 to 2.4, provoked"
OLD_NUMPY = "NumPy before 1.11, Dask, Keras"
DASK = "Dask, provoked"
TORCH = "PyTorch 2.13, provoked"
OLD_TORCH = "PyTorch before 1.0"
JAX = "JAX, provoked"
OLD_JAX = "JAX before 0.4.14"
EINOPS = "einops 0.8, provoked"

ARRAYS = (
    Sentence("cannot reshape array of size {elements} into shape {target}", "numpy", "reshape", "counts", NUMPY),
    Sentence("total size of new array must be unchanged", "numpy", "reshape", "count-mismatch", OLD_NUMPY),
    Sentence("can only specify one unknown dimension", "numpy", "reshape", "two-infer", NUMPY),
    Sentence("all elements of `new_shape` must be non-negative", "numpy", "reshape", "bad-value", NUMPY),
    Sentence("axes don't match array", "numpy", "transpose", "bad-perm", NUMPY),
    Sentence("repeated axis in transpose", "numpy", "transpose", "bad-perm", NUMPY),
    Sentence("invalid axis for this array", "numpy", "transpose", "bad-perm", OLD_NUMPY),
    Sentence("cannot select an axis to squeeze out which has size not equal", "numpy", "squeeze", "not-one", NUMPY),
    Sentence("axis {axis} is out of bounds for array of dimension {rank}", "numpy", None, "bad-axis", NUMPY),
    Sentence(
        "together with remapped shapes [original->remapped]: {input} and requested shape {target}",
        *("numpy", "expand", "not-broadcastable", NUMPY),
    ),
    Sentence("input operand has more dimensions than allowed by the axis", "numpy", "expand", "rank-mismatch", NUMPY),
    Sentence(
        "could not broadcast input array from shape {input} into shape {target}",
        *("numpy", "expand", "not-broadcastable", NUMPY),
    ),
    Sentence("repeated axis", "numpy", None, "bad-axis", NUMPY),
    Sentence("array split does not result in an equal division", "numpy", "split", "indivisible", NUMPY),
    Sentence("bad index. must be integer-like: ", "dask", "reshape", "indivisible", DASK),
    Sentence("cannot squeeze axis with size other than one", "dask", "squeeze", "not-one", DASK),
    Sentence("cannot broadcast shape {input} to shape {target}", "dask", "expand", "not-broadcastable", DASK),
    Sentence("reshape only supports operations that merge or split", "dask", "reshape", "engine-limit", DASK),
    Sentence("repeated elements not allowed in output index", "dask", "transpose", "bad-perm", DASK),
    Sentence("array chunk size or shape is unknown", "dask", None, "engine-limit", DASK),
    Sentence("shape '{target}' is invalid for input of size {elements}", "torch", "reshape", "counts", TORCH),
    Sentence("shape '{target}' is invalid for input of size", "torch", "reshape", "counts", TORCH),
    Sentence(
        "cannot view a tensor with shape {input} and strides {list} as a tensor with shape {target}",
        *("torch", "reshape", "stride-incompatible", TORCH),
    ),
    Sentence("trying to create tensor with negative dimension", "torch", None, "bad-value", TORCH),
    Sentence("size '{target}' is invalid for input with {elements} elements", "torch", "reshape", "counts", OLD_TORCH),
    Sentence("size '{target}' is invalid for input of with {elements}", "torch", "reshape", "counts", OLD_TORCH),
    Sentence(
        "cannot reshape tensor of {elements} elements into shape {target} because",
        *("torch", "reshape", "infer-with-empty", TORCH),
    ),
    Sentence("only one dimension can be inferred", "torch", "reshape", "two-infer", TORCH),
    Sentence(
        "invalid shape dimension {number} at index {number} of shape {target}", "torch", "reshape", "bad-value", TORCH
    ),
    Sentence("invalid shape dimension {number}", "torch", "reshape", "bad-value", OLD_TORCH),
    Sentence("view size is not compatible with input tensor's size", "torch", "reshape", "stride-incompatible", TORCH),
    Sentence("input is not contiguous", "torch", "reshape", "stride-incompatible", OLD_TORCH),
    Sentence("permute(sparse_coo): number of dimensions in the tensor", "torch", "transpose", "bad-perm", TORCH),
    Sentence("does not match the length of the desired ordering of dim", "torch", "transpose", "bad-perm", TORCH),
    Sentence("permute(): duplicate dims are not allowed", "torch", "transpose", "bad-perm", TORCH),
    Sentence("number of dims don't match in permute", "torch", "transpose", "bad-perm", OLD_TORCH),
    Sentence("permute dims must have the same length as input", "torch", "transpose", "bad-perm", "Triton"),
    Sentence("repeated dim in permute", "torch", "transpose", "bad-perm", OLD_TORCH),
    Sentence("t() expects a tensor with <= 2 dimensions", "torch", "transpose", "rank-mismatch", TORCH),
    Sentence("t() expects a 2d tensor", "torch", "transpose", "rank-mismatch", OLD_TORCH),
    Sentence(
        "dimension out of range (expected to be in range of [{number}, {number}], but got {axis}",
        *("torch", None, "bad-axis", TORCH),
    ),
    Sentence(
        "dimension specified as {axis} but tensor has no dimensions",
        "torch",
        None,
        "bad-axis",
        "PyTorch 2.13, provoked",
    ),
    Sentence("dim {axis} appears multiple times in the list of dims", "torch", None, "bad-axis", TORCH),
    Sentence(
        "must match the existing size ({number}) at non-singleton dimension {number}. "
        "target sizes: {target}. tensor sizes: {input}",
        *("torch", "expand", "not-broadcastable", TORCH),
    ),
    Sentence(
        "must match the existing size ({number}) at non-singleton dimension {number}",
        *("torch", "expand", "not-broadcastable", TORCH),
    ),
    Sentence("expand({input}, size={target}): the number of sizes provided", "torch", "expand", "rank-mismatch", TORCH),
    Sentence(
        "the number of sizes provided ({number}) must be greater or equal", "torch", "expand", "rank-mismatch", TORCH
    ),
    Sentence("isn't allowed in a leading, non-existing dimension", "torch", "expand", "bad-value", TORCH),
    Sentence("start_dim cannot come after end_dim", "torch", "flatten", "bad-axis", TORCH),
    Sentence(
        "unflatten: provided sizes {target} don't multiply up to the size of dim {axis} ({elements})",
        *("torch", "unflatten", "counts", TORCH),
    ),
    Sentence("pixel_shuffle expects its input's 'channel' dimension", "torch", "depth_to_space", "indivisible", TORCH),
    Sentence("to be divisible by downscale_factor, but", "torch", "space_to_depth", "indivisible", TORCH),
    Sentence("of repeat dims can not be smaller than number of", "torch", "tile", "rank-mismatch", TORCH),
    Sentence(
        "cannot reshape array of shape {input} (size {number}) into shape {target} because the product of specified",
        *("jax", "reshape", "indivisible", JAX),
    ),
    Sentence(
        "cannot reshape array of shape {input} (size {number}) into shape {target} (size",
        *("jax", "reshape", "counts", JAX),
    ),
    Sentence(
        "reshape total size must be unchanged, got new_sizes {target} for shape {input}",
        *("jax", "reshape", "counts", OLD_JAX),
    ),
    Sentence(
        "reshape total size must be unchanged, got new_sizes {target} (prod {number}) for shape {input}",
        *("jax", "reshape", "counts", OLD_JAX),
    ),
    Sentence("can only specify one unknown axis size with a", "jax", "reshape", "two-infer", JAX),
    Sentence("integer modulo by zero", "jax", "reshape", "infer-with-empty", JAX),
    Sentence(
        "isn't a permutation of operand dimensions, got permutation {perm} for operand shape {input}",
        *("jax", "transpose", "bad-perm", JAX),
    ),
    Sentence(
        "squeeze out which has size not equal to one, got shape={input} and dimensions={axes}",
        *("jax", "squeeze", "not-one", JAX),
    ),
    Sentence(
        "for broadcasting: input type={input} and requested type={target}", "jax", "expand", "not-broadcastable", JAX
    ),
    Sentence(
        "incompatible shapes for broadcasting: {input} and requested shape {target}",
        *("jax", "expand", "not-broadcastable", OLD_JAX),
    ),
    Sentence(
        "cannot broadcast to shape with fewer dimensions: arr_shape={input} shape={target}",
        *("jax", "expand", "rank-mismatch", JAX),
    ),
    Sentence("repeated axis in lax.expand_dims: {axes}", "jax", "unsqueeze", "bad-axis", JAX),
    Sentence(
        "number of output elements ({target_elements}) doesn't match expected number of elements ({elements})",
        *("jax", "reshape", "counts", JAX),
    ),
    Sentence("shapes must be 1d sequences of concrete values", "jax", None, "bad-value", JAX),
    Sentence(
        'pattern "{words}". input tensor shape: {input}. additional info: {words} shape mismatch, can\'t divide axis',
        *("einops", None, "indivisible", EINOPS),
    ),
    Sentence(
        'pattern "{words}". input tensor shape: {input}. additional info: {words} shape mismatch, {number} != ',
        *("einops", None, "count-mismatch", EINOPS),
    ),
    Sentence(
        'pattern "{words}". input tensor shape: {input}. additional info: {words} wrong shape: expected',
        *("einops", None, "rank-mismatch", EINOPS),
    ),
    Sentence(
        'pattern "{words}". input tensor shape: {input}. additional info: {words} expected {number} dimensions, got',
        *("einops", None, "rank-mismatch", "einops before 0.7"),
    ),
    Sentence('pattern "{words}". input tensor shape: {input}.', "einops", None, "bad-pattern", EINOPS),
    Sentence("error while processing {words}-reduction pattern", "einops", None, "bad-pattern", EINOPS),
    Sentence("shape mismatch, can't divide axis of length", "einops", None, "indivisible", EINOPS),
    Sentence("identifiers only on one side of expression", "einops", None, "bad-pattern", EINOPS),
    Sentence("wrong shape: expected {number} dims. received", "einops", None, "rank-mismatch", EINOPS),
)
