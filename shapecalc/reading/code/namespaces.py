"""Define the namespaces of PyTorch functions: tensor methods, `torch` and `torch.nn.functional`.

`tests/engines/test_checks.py` compares the names with those of PyTorch.
"""

from __future__ import annotations

_FUNCTIONAL_ONLY = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
adaptive_max_pool3d affine_grid avg_pool1d avg_pool2d avg_pool3d batch_norm binary_cross_entropy
binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
cosine_similarity cross_entropy dropout elu embedding gelu glu grid_sample group_norm hardsigmoid hardswish hardtanh
huber_loss interpolate kl_div l1_loss layer_norm leaky_relu linear logsigmoid max_pool1d max_pool2d max_pool3d mish
mse_loss nll_loss normalize one_hot pad pixel_shuffle pixel_unshuffle relu6 rms_norm scaled_dot_product_attention selu
silu smooth_l1_loss softmin softplus softsign
dropout1d dropout2d dropout3d gumbel_softmax softshrink tanhshrink local_response_norm
"""
_ALSO_FUNCTIONAL = (
    "selu_ log_softmax relu relu_ sigmoid softmax tanh unfold fold hardshrink threshold rrelu prelu instance_norm "
    "alpha_dropout feature_alpha_dropout channel_shuffle pairwise_distance pdist embedding_bag bilinear"
)
FUNCTIONAL = {*_FUNCTIONAL_ONLY.split(), *_ALSO_FUNCTIONAL.split()}
"""The known functions of `torch.nn.functional`."""
_NO_METHODS = """
as_tensor asarray atleast_1d atleast_2d atleast_3d broadcast_tensors bucketize cat cdist column_stack complex concat
concatenate dstack einsum empty_like from_numpy full_like hstack meshgrid ones_like polar rand_like randn_like
row_stack searchsorted selu_ stack std_mean tensor var_mean view_as_complex view_as_real vstack zeros_like
alpha_dropout bilinear block_diag broadcast_shapes cartesian_prod channel_shuffle combinations
cumulative_trapezoid embedding_bag feature_alpha_dropout instance_norm isin pairwise_distance pca_lowrank pdist
rrelu rsub svd_lowrank tensordot threshold trapezoid trapz vander
"""
NOT_METHODS = {*_FUNCTIONAL_ONLY.split(), *_NO_METHODS.split()}
"""The known functions that are not methods of a tensor."""
_ABSENT = """
adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d add_ affine_grid avg_pool2d avg_pool3d
bernoulli_ binary_cross_entropy char contiguous copy_ cross_entropy div_ elu expand expand_as gelu glu grid_sample
hardsigmoid hardswish hardtanh huber_loss index_add_ index_copy_ index_fill_ interpolate item l1_loss leaky_relu
linear logical_and_ logical_or_ logical_xor_ logsigmoid masked_fill_ mish mse_loss mul_ new_empty new_full new_ones
new_zeros nll_loss normal_ normalize one_hot pad pow_ relu6 repeat reshape_as scaled_dot_product_attention scatter_
scatter_add_ sign_ silu size smooth_l1_loss softmin softplus softsign stride sub_ to tolist type type_as
unfold uniform_ view view_as
dropout1d dropout2d dropout3d gumbel_softmax softshrink tanhshrink local_response_norm index_reduce_
"""
NOT_IN_TORCH = {*_ABSENT.split()}
"""The known functions and methods that are not in `torch`."""
TORCH_MODULES = ("torch",)
FUNCTIONAL_MODULES = ("F", "nn.functional", "torch.nn.functional")


def find_namespace(name: str) -> str:
    """Return an example of a function call, in a namespace that defines the function.

    >>> find_namespace("gelu"), find_namespace("stack"), find_namespace("view")
    ('F.gelu(x)', 'torch.stack(x)', 'x.view()')
    """
    if name in FUNCTIONAL:
        return f"F.{name}(x)"
    return f"x.{name}()" if name in NOT_IN_TORCH else f"torch.{name}(x)"


def is_missing_from_namespace(name: str, module: str, *, is_method: bool) -> bool:
    """Return whether a call uses a namespace of PyTorch that does not define the function.

    The namespace is a module or, if `is_method` is True, the methods of a tensor.
    """
    if is_method:
        return name in NOT_METHODS
    if module in FUNCTIONAL_MODULES:
        return name.removeprefix("F.") not in FUNCTIONAL
    return module in TORCH_MODULES and name in NOT_IN_TORCH
