"""Sentences of array libraries: NumPy, Dask, PyTorch, JAX, einops. CuPy and others repeat NumPy's."""

from __future__ import annotations

from shapecalc.doctor.sentence import said_by

ARRAYS = (
    *said_by(
        "numpy",
        "NumPy 1.11 to 2.4, provoked",
        {
            "reshape": {
                "counts": ("cannot reshape array of size {elements} into shape {target}",),
                "two-infer": ("can only specify one unknown dimension",),
                "bad-value": ("all elements of `new_shape` must be non-negative",),
            },
            "transpose": {
                "bad-perm": (
                    "axes don't match array",
                    "repeated axis in transpose",
                ),
            },
            "squeeze": {
                "not-one": ("cannot select an axis to squeeze out which has size not equal",),
            },
            None: {
                "bad-axis": (
                    "axis {axis} is out of bounds for array of dimension {rank}",
                    "repeated axis",
                ),
            },
            "expand": {
                "not-broadcastable": (
                    "together with remapped shapes [original->remapped]: {input} and requested shape {target}",
                    "could not broadcast input array from shape {input} into shape {target}",
                ),
                "rank-mismatch": ("input operand has more dimensions than allowed by the axis",),
            },
            "split": {
                "indivisible": ("array split does not result in an equal division",),
            },
        },
    ),
    *said_by(
        "numpy",
        "NumPy before 1.11, Dask, Keras",
        {
            "reshape": {
                "count-mismatch": ("total size of new array must be unchanged",),
            },
            "transpose": {
                "bad-perm": ("invalid axis for this array",),
            },
        },
    ),
    *said_by(
        "dask",
        "Dask, provoked",
        {
            "reshape": {
                "indivisible": ("bad index. must be integer-like: ",),
                "engine-limit": ("reshape only supports operations that merge or split",),
            },
            "squeeze": {
                "not-one": ("cannot squeeze axis with size other than one",),
            },
            "expand": {
                "not-broadcastable": ("cannot broadcast shape {input} to shape {target}",),
            },
            "transpose": {
                "bad-perm": ("repeated elements not allowed in output index",),
            },
            None: {
                "engine-limit": ("array chunk size or shape is unknown",),
            },
        },
    ),
    *said_by(
        "torch",
        "PyTorch 2.13, provoked",
        {
            "reshape": {
                "counts": (
                    "shape '{target}' is invalid for input of size {elements}",
                    "shape '{target}' is invalid for input of size",
                ),
                "stride-incompatible": (
                    "cannot view a tensor with shape {input} and strides {strides} as a tensor with shape {target}",
                    "view size is not compatible with input tensor's size",
                ),
                "infer-with-empty": ("cannot reshape tensor of {elements} elements into shape {target} because",),
                "two-infer": ("only one dimension can be inferred",),
                "bad-value": ("invalid shape dimension {number} at index {number} of shape {target}",),
            },
            None: {
                "bad-value": ("trying to create tensor with negative dimension",),
                "bad-axis": (
                    "dimension out of range (expected to be in range of [{number}, {number}], but got {axis}",
                    "dimension specified as {axis} but tensor has no dimensions",
                    "dim {axis} appears multiple times in the list of dims",
                ),
            },
            "transpose": {
                "bad-perm": (
                    "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                    "desired ordering of dimensions i.e. input.dim() = {there} is not equal to len(dims) = {wanted}",
                    "permute(sparse_coo): number of dimensions in the tensor",
                    "does not match the length of the desired ordering of dim",
                    "permute(): duplicate dims are not allowed",
                ),
                "rank-mismatch": ("t() expects a tensor with <= 2 dimensions",),
            },
            "expand": {
                "not-broadcastable": (
                    "must match the existing size ({number}) at non-singleton dimension {number}. target sizes: "
                    "{target}. tensor sizes: {input}",
                    "the expanded size of the tensor ({wanted}) must match the existing size ({there}) at "
                    "non-singleton dimension {number}",
                    "must match the existing size ({number}) at non-singleton dimension {number}",
                ),
                "rank-mismatch": (
                    "expand({input}, size={target}): the number of sizes provided",
                    "the number of sizes provided ({number}) must be greater or equal",
                ),
                "bad-value": ("isn't allowed in a leading, non-existing dimension",),
            },
            "flatten": {
                "bad-axis": ("start_dim cannot come after end_dim",),
            },
            "unflatten": {
                "counts": (
                    "unflatten: provided sizes {target} don't multiply up to the size of dim {axis} ({elements})",
                ),
            },
            "depth_to_space": {
                "indivisible": ("pixel_shuffle expects its input's 'channel' dimension",),
            },
            "space_to_depth": {
                "indivisible": ("to be divisible by downscale_factor, but",),
            },
            "tile": {
                "rank-mismatch": ("of repeat dims can not be smaller than number of",),
            },
        },
    ),
    *said_by(
        "torch",
        "PyTorch before 1.0",
        {
            "reshape": {
                "counts": (
                    "size '{target}' is invalid for input with {elements} elements",
                    "size '{target}' is invalid for input of with {elements}",
                ),
                "bad-value": ("invalid shape dimension {number}",),
                "stride-incompatible": ("input is not contiguous",),
            },
            "transpose": {
                "bad-perm": (
                    "number of dims don't match in permute",
                    "repeated dim in permute",
                ),
                "rank-mismatch": ("t() expects a 2d tensor",),
            },
        },
    ),
    *said_by(
        "torch",
        "Triton",
        {
            "transpose": {
                "bad-perm": ("permute dims must have the same length as input",),
            },
        },
    ),
    *said_by(
        "jax",
        "JAX, provoked",
        {
            "reshape": {
                "indivisible": (
                    "cannot reshape array of shape {input} (size {number}) into shape {target} because the "
                    "product of specified",
                ),
                "counts": (
                    "cannot reshape array of shape {input} (size {number}) into shape {target} (size",
                    "number of output elements ({target_elements}) doesn't match expected number of elements "
                    "({elements})",
                ),
                "two-infer": ("can only specify one unknown axis size with a",),
                "infer-with-empty": ("integer modulo by zero",),
            },
            "transpose": {
                "bad-perm": (
                    "isn't a permutation of operand dimensions, got permutation {perm} for operand shape {input}",
                ),
            },
            "squeeze": {
                "not-one": ("squeeze out which has size not equal to one, got shape={input} and dimensions={axes}",),
            },
            "expand": {
                "not-broadcastable": ("for broadcasting: input type={input} and requested type={target}",),
                "rank-mismatch": ("cannot broadcast to shape with fewer dimensions: arr_shape={input} shape={target}",),
            },
            "unsqueeze": {
                "bad-axis": ("repeated axis in lax.expand_dims: {axes}",),
            },
            None: {
                "bad-value": ("shapes must be 1d sequences of concrete values",),
            },
        },
    ),
    *said_by(
        "jax",
        "JAX before 0.4.14",
        {
            "reshape": {
                "counts": (
                    "reshape total size must be unchanged, got new_sizes {target} for shape {input}",
                    "reshape total size must be unchanged, got new_sizes {target} (prod {number}) for shape {input}",
                ),
            },
            "expand": {
                "not-broadcastable": ("incompatible shapes for broadcasting: {input} and requested shape {target}",),
            },
        },
    ),
    *said_by(
        "einops",
        "einops 0.8, provoked",
        {
            None: {
                "indivisible": (
                    'pattern "{words}". input tensor shape: {input}. additional info: {words} shape mismatch, '
                    "can't divide axis",
                    "shape mismatch, can't divide axis of length",
                ),
                "count-mismatch": (
                    'pattern "{words}". input tensor shape: {input}. additional info: {words} shape mismatch, '
                    "{number} != ",
                ),
                "rank-mismatch": (
                    'pattern "{words}". input tensor shape: {input}. additional info: {words} wrong shape: expected',
                    "wrong shape: expected {number} dims. received",
                ),
                "bad-pattern": (
                    'pattern "{words}". input tensor shape: {input}.',
                    "error while processing {words}-reduction pattern",
                    "identifiers only on one side of expression",
                ),
            },
        },
    ),
    *said_by(
        "einops",
        "einops before 0.7",
        {
            None: {
                "rank-mismatch": (
                    'pattern "{words}". input tensor shape: {input}. additional info: {words} expected {number} '
                    "dimensions, got",
                ),
            },
        },
    ),
)
