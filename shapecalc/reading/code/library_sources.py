"""Define helpers of libraries for code that imports them, if the files of the library are not available.

Each definition has the parameters of the library's function or class, and computes the same shapes. It omits operations
that change only elements. Sources: the documentation of timm 1.0, torchvision 0.29, transformers 5 and diffusers 0.42.
"""

from __future__ import annotations

from collections.abc import Mapping

_TIMM = """
def use_fused_attn(experimental=False):
    return not experimental


def maybe_add_mask(scores, attn_mask=None):
    return scores if attn_mask is None else scores + attn_mask


class Format(str, Enum):
    NCHW = "NCHW"
    NHWC = "NHWC"
    NCL = "NCL"
    NLC = "NLC"


def get_device_dtype(module, device=None, dtype=None):
    return {}


def to_ntuple(n):
    def repeat(x):
        return tuple(x) if isinstance(x, (tuple, list)) else (x,) * n
    return repeat


def extend_tuple(x, n):
    x = tuple(x) if isinstance(x, (tuple, list)) else (x,)
    return x[:n] if len(x) >= n else x + (x[-1],) * (n - len(x))


def ndgrid(*tensors):
    return torch.meshgrid(*tensors, indexing="ij")


def calculate_drop_path_rates(drop_path_rate, depths, stagewise=False):
    if isinstance(depths, int):
        return [drop_path_rate] * depths
    return [[drop_path_rate] * depth for depth in depths] if stagewise else [drop_path_rate] * sum(depths)


def num_groups(group_size, channels):
    return channels // group_size if group_size else 1


def feature_take_indices(num_features, indices=None, as_set=False):
    if indices is None:
        indices = num_features
    if isinstance(indices, int):
        taken = [num_features - indices + i for i in range(indices)]
    else:
        taken = [num_features + i if i < 0 else i for i in indices]
    return taken, max(taken)


def checkpoint(function, *args, use_reentrant=None, **kwargs):
    return function(*args, **kwargs)


def checkpoint_seq(functions, x, every=1, flatten=False, skip_last=False):
    for function in functions:
        x = function(x)
    return x


class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-5, inplace=False, device=None, dtype=None):
        self.gamma = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return x * self.gamma


class LayerScale2d(nn.Module):
    def __init__(self, dim, init_values=1e-5, inplace=False, device=None, dtype=None):
        self.gamma = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return x * self.gamma.view(1, -1, 1, 1)


class LayerNorm2d(nn.Module):
    def __init__(self, num_channels, eps=1e-6, affine=True, **kwargs):
        self.norm = nn.LayerNorm(num_channels)
        self.weight = self.norm.weight

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class GroupNorm1(nn.Module):
    def __init__(self, num_channels, **kwargs):
        self.norm = nn.GroupNorm(1, num_channels)

    def forward(self, x):
        return self.norm(x)


class Mlp(nn.Module):
    def __init__(
        self, in_features, hidden_features=None, out_features=None, act_layer=nn.GELU, norm_layer=None, bias=True,
        drop=0.0, use_conv=False, device=None, dtype=None,
    ):
        hidden = hidden_features or in_features
        self.fc1 = nn.Conv2d(in_features, hidden, 1) if use_conv else nn.Linear(in_features, hidden)
        self.act = act_layer()
        self.norm = norm_layer(hidden) if norm_layer is not None else nn.Identity()
        out = out_features or in_features
        self.fc2 = nn.Conv2d(hidden, out, 1) if use_conv else nn.Linear(hidden, out)

    def forward(self, x):
        return self.fc2(self.norm(self.act(self.fc1(x))))


class ConvMlp(nn.Module):
    def __init__(
        self, in_features, hidden_features=None, out_features=None, act_layer=nn.ReLU, norm_layer=None, bias=True,
        drop=0.0, device=None, dtype=None,
    ):
        hidden = hidden_features or in_features
        self.fc1 = nn.Conv2d(in_features, hidden, 1)
        self.norm = norm_layer(hidden) if norm_layer else nn.Identity()
        self.act = act_layer()
        self.fc2 = nn.Conv2d(hidden, out_features or in_features, 1)

    def forward(self, x):
        return self.fc2(self.act(self.norm(self.fc1(x))))


class GluMlp(nn.Module):
    def __init__(
        self, in_features, hidden_features=None, out_features=None, act_layer=nn.Sigmoid, norm_layer=None, bias=True,
        drop=0.0, use_conv=False, gate_last=True, device=None, dtype=None,
    ):
        hidden, out = hidden_features or in_features, out_features or in_features
        self.axis = 1 if use_conv else -1
        self.fc1 = nn.Conv2d(in_features, hidden, 1) if use_conv else nn.Linear(in_features, hidden)
        self.norm = norm_layer(hidden // 2) if norm_layer is not None else nn.Identity()
        self.fc2 = nn.Conv2d(hidden // 2, out, 1) if use_conv else nn.Linear(hidden // 2, out)

    def forward(self, x):
        left, right = self.fc1(x).chunk(2, dim=self.axis)
        return self.fc2(self.norm(left * right))


class SwiGLU(nn.Module):
    def __init__(
        self, in_features, hidden_features=None, out_features=None, act_layer=nn.SiLU, norm_layer=None, bias=True,
        drop=0.0, align_to=0, device=None, dtype=None,
    ):
        hidden = hidden_features or in_features
        if align_to:
            hidden = hidden + (-hidden % align_to)
        self.fc1_g = nn.Linear(in_features, hidden)
        self.fc1_x = nn.Linear(in_features, hidden)
        self.norm = norm_layer(hidden) if norm_layer is not None else nn.Identity()
        self.fc2 = nn.Linear(hidden, out_features or in_features)

    def forward(self, x):
        return self.fc2(self.norm(self.fc1_g(x) * self.fc1_x(x)))


class GlobalResponseNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, channels_last=True, device=None, dtype=None):
        self.shape = (1, 1, 1, -1) if channels_last else (1, -1, 1, 1)
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return x + self.weight.view(self.shape) * x


class PatchEmbed(nn.Module):
    def __init__(
        self, img_size=224, patch_size=16, in_chans=3, embed_dim=768, norm_layer=None, flatten=True, output_fmt=None,
        bias=True, strict_img_size=True, dynamic_img_pad=False, device=None, dtype=None,
    ):
        self.patch_size = to_2tuple(patch_size)
        self.img_size = None if img_size is None else to_2tuple(img_size)
        if img_size is not None:
            self.grid_size = tuple([s // p for s, p in zip(self.img_size, self.patch_size)])
            self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.flatten = flatten if output_fmt is None else output_fmt == "NLC"
        self.output_fmt = output_fmt
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def dynamic_feat_size(self, img_size):
        return img_size[0] // self.patch_size[0], img_size[1] // self.patch_size[1]

    def forward(self, x):
        x = self.proj(x)
        if self.flatten:
            x = x.flatten(2).transpose(1, 2)
        elif self.output_fmt == "NHWC":
            x = x.permute(0, 2, 3, 1)
        elif self.output_fmt == "NCL":
            x = x.flatten(2)
        return self.norm(x)


class SelectAdaptivePool2d(nn.Module):
    def __init__(self, output_size=1, pool_type="fast", flatten=False, input_fmt="NCHW"):
        self.is_last = input_fmt == "NHWC"
        self.flatten = flatten
        self.pool_type = pool_type
        self.factor = 2 if pool_type in ("catavgmax", "fastcatavgmax") else 1

    def feat_mult(self):
        return self.factor

    def forward(self, x):
        if not self.pool_type:
            return x.flatten(1) if self.flatten else x
        x = x.mean((1, 2), keepdim=True).permute(0, 3, 1, 2) if self.is_last else x.mean((2, 3), keepdim=True)
        if self.factor == 2:
            x = torch.cat([x, x], 1)
        if self.flatten:
            return x.flatten(1)
        return x.permute(0, 2, 3, 1) if self.is_last else x


def create_classifier(
    num_features, num_classes, pool_type="avg", use_conv=False, input_fmt="NCHW", drop_rate=None, device=None,
    dtype=None,
):
    pool = SelectAdaptivePool2d(1, pool_type, not use_conv, input_fmt)
    width = num_features * pool.feat_mult()
    if num_classes <= 0:
        head = nn.Identity()
    else:
        head = nn.Conv2d(width, num_classes, 1) if use_conv else nn.Linear(width, num_classes)
    return (pool, head) if drop_rate is None else (pool, nn.Dropout(drop_rate), head)


class ClassifierHead(nn.Module):
    def __init__(
        self, in_features, num_classes, pool_type="avg", drop_rate=0.0, use_conv=False, input_fmt="NCHW", device=None,
        dtype=None,
    ):
        self.global_pool, self.fc = create_classifier(in_features, num_classes, pool_type, use_conv, input_fmt)
        self.flatten = nn.Flatten(1) if use_conv and pool_type else nn.Identity()

    def forward(self, x, pre_logits=False):
        x = self.global_pool(x)
        return self.flatten(x) if pre_logits else self.flatten(self.fc(x))


class NormMlpClassifierHead(nn.Module):
    def __init__(
        self, in_features, num_classes, hidden_size=None, pool_type="avg", drop_rate=0.0, norm_layer="layernorm2d",
        act_layer="tanh", device=None, dtype=None,
    ):
        self.use_conv = not pool_type
        self.global_pool = SelectAdaptivePool2d(1, pool_type)
        self.norm = get_norm_layer(norm_layer)(in_features)
        layer = partial(nn.Conv2d, kernel_size=1) if self.use_conv else nn.Linear
        self.pre_logits = layer(in_features, hidden_size) if hidden_size else nn.Identity()
        self.fc = layer(hidden_size or in_features, num_classes) if num_classes > 0 else nn.Identity()

    def forward(self, x, pre_logits=False):
        x = self.norm(self.global_pool(x))
        x = self.pre_logits(x if self.use_conv else x.flatten(1))
        return x if pre_logits else self.fc(x)


class RmsNorm2d(nn.Module):
    def __init__(self, channels, **kwargs):
        self.norm = nn.RMSNorm(channels)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


_NORMS = {
    "batchnorm": nn.BatchNorm2d, "batchnorm2d": nn.BatchNorm2d, "layernorm": nn.LayerNorm, "layernorm2d": LayerNorm2d,
    "groupnorm1": GroupNorm1, "rmsnorm": nn.RMSNorm, "rmsnorm2d": RmsNorm2d,
}


def get_norm_layer(norm_layer):
    return _NORMS[norm_layer.replace("_", "").lower()] if isinstance(norm_layer, str) else norm_layer


class BatchNormAct2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, apply_act=True, act_layer=None, **kwargs):
        self.norm = nn.BatchNorm2d(num_features)

    def forward(self, x):
        return self.norm(x)


class LayerNormAct2d(nn.Module):
    def __init__(self, num_channels, eps=1e-5, affine=True, apply_act=True, act_layer=None, **kwargs):
        self.norm = LayerNorm2d(num_channels)

    def forward(self, x):
        return self.norm(x)


class LayerNormAct(nn.Module):
    def __init__(self, normalization_shape, eps=1e-5, affine=True, apply_act=True, act_layer=None, **kwargs):
        self.norm = nn.LayerNorm(normalization_shape)

    def forward(self, x):
        return self.norm(x)


_NORM_ACTS = {
    "batchnorm": BatchNormAct2d, "batchnorm2d": BatchNormAct2d, "layernorm": LayerNormAct,
    "layernorm2d": LayerNormAct2d,
}


def get_norm_act_layer(norm_layer, act_layer=None):
    return _NORM_ACTS[norm_layer.replace("_", "").lower()]


def get_padding(kernel_size, stride=1, dilation=1):
    return ((stride - 1) + dilation * (kernel_size - 1)) // 2


class Conv2dSame(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        self.conv = nn.Conv2d(in_channels, out_channels, 1, groups=groups)
        self.stride = to_2tuple(stride)

    def forward(self, x):
        return self.conv(x[:, :, :: self.stride[0], :: self.stride[1]])


def create_conv2d(in_channels, out_channels, kernel_size, **kwargs):
    is_depthwise = kwargs.pop("depthwise", False)
    groups = in_channels if is_depthwise else kwargs.pop("groups", 1)
    stride, dilation, padding = kwargs.get("stride", 1), kwargs.get("dilation", 1), kwargs.get("padding", "")
    bias = kwargs.get("bias", False)
    if padding == "same":
        return Conv2dSame(in_channels, out_channels, kernel_size, stride, 0, dilation, groups, bias)
    if padding == "":
        padding = get_padding(kernel_size, stride, dilation)
    elif padding == "valid":
        padding = 0
    return nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)


class Pool2dSame(nn.Module):
    def __init__(self, stride):
        self.stride = to_2tuple(stride)

    def forward(self, x):
        return x[:, :, :: self.stride[0], :: self.stride[1]]


def create_pool2d(pool_type, kernel_size, stride=None, **kwargs):
    stride, padding = stride or kernel_size, kwargs.pop("padding", "")
    if padding == "same":
        return Pool2dSame(stride)
    if padding == "":
        padding = get_padding(kernel_size, stride)
    elif padding == "valid":
        padding = 0
    pool = nn.AvgPool2d if pool_type == "avg" else nn.MaxPool2d
    return pool(kernel_size, stride=stride, padding=padding, ceil_mode=kwargs.get("ceil_mode", False))


class ConvNormAct(nn.Module):
    def __init__(
        self, in_channels, out_channels, kernel_size=1, stride=1, padding="", dilation=1, groups=1, bias=False,
        apply_norm=True, apply_act=True, norm_layer=None, act_layer=None, aa_layer=None, drop_layer=None, **kwargs,
    ):
        self.conv = create_conv2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups
        )
        self.bn = nn.BatchNorm2d(out_channels) if norm_layer is None else norm_layer(out_channels)

    def forward(self, x):
        return self.bn(self.conv(x))


ConvBnAct = ConvNormAct


class SqueezeExcite(nn.Module):
    def __init__(self, channels, *args, **kwargs):
        self.scale = nn.Parameter(torch.zeros(1, channels, 1, 1))

    def forward(self, x):
        return x * self.scale


class LayerFn:
    conv_norm_act = ConvNormAct
    norm_act = BatchNormAct2d
    act = nn.ReLU
    attn = None
    self_attn = None


SEModule = EffectiveSEModule = EffectiveSqueezeExcite = EcaModule = SqueezeExcite


def create_attn(attn_type, channels, **kwargs):
    return SqueezeExcite(channels) if attn_type else None


def _window_area(window_size, prefix_tokens):
    return window_size[0] * window_size[1] + prefix_tokens


class RelPosBias(nn.Module):
    def __init__(self, window_size, num_heads, prefix_tokens=0, device=None, dtype=None):
        self.area = _window_area(window_size, prefix_tokens)
        self.num_heads = num_heads

    def get_bias(self):
        return torch.zeros(1, self.num_heads, self.area, self.area)

    def forward(self, attn, shared_rel_pos=None):
        return attn + self.get_bias()


class RelPosMlp(RelPosBias):
    def __init__(
        self, window_size, num_heads=8, hidden_dim=128, prefix_tokens=0, mode="cr", pretrained_window_size=(0, 0),
        device=None, dtype=None,
    ):
        self.area = _window_area(window_size, prefix_tokens)
        self.num_heads = num_heads


class RelPosBiasTf(RelPosBias):
    pass


def resample_abs_pos_embed(
    posemb, new_size, old_size=None, num_prefix_tokens=1, interpolation="bicubic", antialias=True, verbose=False
):
    return torch.zeros(posemb.shape[0], new_size[0] * new_size[1] + num_prefix_tokens, posemb.shape[-1])


def resample_abs_pos_embed_nhwc(posemb, new_size, interpolation="bicubic", antialias=True, verbose=False):
    return torch.zeros(posemb.shape[0], new_size[0], new_size[1], posemb.shape[-1])


def resample_patch_embed(patch_embed, new_size, interpolation="bicubic", antialias=True, verbose=False):
    return torch.zeros(patch_embed.shape[0], patch_embed.shape[1], new_size[0], new_size[1])


def rot(x):
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)


def apply_rot_embed(x, sin_emb, cos_emb, half=False):
    return x * cos_emb + x * sin_emb


def apply_rot_embed_cat(x, emb, half=False):
    sin_emb, cos_emb = emb.chunk(2, -1)
    return x * cos_emb + x * sin_emb


class Attention(nn.Module):
    def __init__(self, dim, num_heads=8, **kwargs):
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, attn_mask=None, is_causal=False):
        return self.proj(x)


class Block(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=4.0, **kwargs):
        self.norm1 = nn.LayerNorm(dim)

    def forward(self, x, attn_mask=None, is_causal=False):
        return self.norm1(x)
"""
_TORCHVISION = """
def _log_api_usage_once(value):
    return None


class Permute(nn.Module):
    def __init__(self, dims):
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)


class MLP(nn.Sequential):
    def __init__(
        self, in_channels, hidden_channels, norm_layer=None, activation_layer=nn.ReLU, inplace=None, bias=True,
        dropout=0.0,
    ):
        layers = []
        for width in hidden_channels:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            in_channels = width
        super().__init__(*layers)


class Conv2dNormActivation(nn.Sequential):
    def __init__(
        self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1, norm_layer=nn.BatchNorm2d,
        activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None,
    ):
        if padding is None:
            sizes, steps = _pair(kernel_size), _pair(dilation)
            padding = tuple([step * ((size - 1) // 2) for size, step in zip(sizes, steps)])
        layers = [nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups)]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv3dNormActivation(nn.Sequential):
    def __init__(
        self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1, norm_layer=nn.BatchNorm3d,
        activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None,
    ):
        if padding is None:
            sizes, steps = _triple(kernel_size), _triple(dilation)
            padding = tuple([step * ((size - 1) // 2) for size, step in zip(sizes, steps)])
        layers = [nn.Conv3d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups)]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        super().__init__(*layers)
        self.out_channels = out_channels


ConvNormActivation = Conv2dNormActivation


class SqueezeExcitation(nn.Module):
    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        self.scale = nn.Parameter(torch.zeros(1, input_channels, 1, 1))

    def forward(self, x):
        return x * self.scale


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        self.weight = torch.zeros(num_features)

    def forward(self, x):
        return x * self.weight.reshape(1, -1, 1, 1)


def box_area(boxes, fmt="xyxy"):
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def box_iou(boxes1, boxes2, fmt="xyxy"):
    return box_area(boxes1)[:, None] + box_area(boxes2)


generalized_box_iou = complete_box_iou = distance_box_iou = box_iou


def _upcast(t):
    return t if t.is_floating_point() else t.float()


def _upcast_non_float(t):
    return t if t.is_floating_point() else t.float()


def _loss_inter_union(boxes1, boxes2):
    union = boxes1[..., 0] + boxes2[..., 0]
    return union, union


def _box_convert(boxes):
    return torch.stack(boxes.unbind(-1), dim=-1)


_box_cxcywh_to_xyxy = _box_xyxy_to_cxcywh = _box_xywh_to_xyxy = _box_xyxy_to_xywh = _box_convert


def _topk_min(input, orig_kval, axis):
    return min(orig_kval, input.size(axis))


class BoxCoder:
    def __init__(self, weights, bbox_xform_clip=4.135):
        self.weights = weights

    def encode(self, reference_boxes, proposals):
        return [boxes.clone() for boxes in reference_boxes]

    def encode_single(self, reference_boxes, proposals):
        return reference_boxes.clone()

    def decode(self, rel_codes, boxes):
        return rel_codes.reshape(sum([box.size(0) for box in boxes]), -1, 4)

    def decode_single(self, rel_codes, boxes):
        return rel_codes.clone()


def clip_boxes_to_image(boxes, size):
    return boxes.clone()


def box_convert(boxes, in_fmt, out_fmt):
    return boxes.clone()


def remove_small_boxes(boxes, min_size):
    return torch.where(boxes[:, 0] > min_size)[0]


def nms(boxes, scores, iou_threshold):
    return torch.where(scores > iou_threshold)[0]


def batched_nms(boxes, scores, idxs, iou_threshold):
    return torch.where(scores > iou_threshold)[0]


def roi_align(
    input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False
):
    count = boxes.shape[0] if isinstance(boxes, torch.Tensor) else sum([box.shape[0] for box in boxes])
    height, width = _pair(output_size)
    return torch.zeros(count, input.shape[1], height, width)


roi_pool = roi_align
"""
_TRANSFORMERS = """
class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        self.nf = nf
        self.weight = nn.Parameter(torch.zeros(nx, nf))

    def forward(self, x):
        return (x.view(-1, x.size(-1)) @ self.weight).view(x.size()[:-1] + (self.nf,))


def apply_chunking_to_forward(forward_fn, chunk_size, chunk_dim, *input_tensors):
    return forward_fn(*input_tensors)


def meshgrid(*tensors, indexing=None):
    return torch.meshgrid(*tensors, indexing=indexing)


class GradientCheckpointingLayer(nn.Module):
    gradient_checkpointing = False


def is_flash_attention_requested(config=None, requested_attention_implementation=None):
    return False


def slice_logits_to_keep(hidden_states, logits_to_keep=0):
    if isinstance(logits_to_keep, int):
        return hidden_states[:, slice(-logits_to_keep, None) if logits_to_keep else slice(None), :]
    return hidden_states[:, logits_to_keep, :]


def _frequencies(config, device=None, seq_len=None, layer_type=None):
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return torch.arange(0, width, 2), 1.0


ROPE_INIT_FUNCTIONS = {
    "default": _frequencies, "linear": _frequencies, "dynamic": _frequencies, "yarn": _frequencies,
    "longrope": _frequencies, "llama3": _frequencies,
}


def softmax_backward_data(parent, grad_output, output):
    return output
"""
_DIFFUSERS = """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, elementwise_affine=True, bias=False):
        self.norm = nn.RMSNorm(dim)

    def forward(self, hidden_states):
        return self.norm(hidden_states)


class FP32LayerNorm(nn.LayerNorm):
    pass


class AdaLayerNorm(nn.Module):
    def __init__(
        self, embedding_dim, num_embeddings=None, output_dim=None, norm_elementwise_affine=False, norm_eps=1e-5,
        chunk_dim=0,
    ):
        self.chunk_dim = chunk_dim
        width = output_dim or embedding_dim * 2
        self.emb = None if num_embeddings is None else nn.Embedding(num_embeddings, embedding_dim)
        self.linear = nn.Linear(embedding_dim, width)
        self.norm = nn.LayerNorm(width // 2)

    def forward(self, x, timestep=None, temb=None):
        if self.emb is not None:
            temb = self.emb(timestep)
        temb = self.linear(temb)
        if self.chunk_dim == 1:
            shift, scale = temb.chunk(2, dim=1)
            shift, scale = shift[:, None, :], scale[:, None, :]
        else:
            scale, shift = temb.chunk(2, dim=0)
        return self.norm(x) * (1 + scale) + shift


class AdaLayerNormZero(nn.Module):
    def __init__(self, embedding_dim, num_embeddings=None, norm_type="layer_norm", bias=True):
        self.linear = nn.Linear(embedding_dim, 6 * embedding_dim)
        self.norm = nn.LayerNorm(embedding_dim)

    def forward(self, x, timestep=None, class_labels=None, hidden_dtype=None, emb=None):
        shift, scale, gate, shift_mlp, scale_mlp, gate_mlp = self.linear(emb).chunk(6, dim=1)
        return self.norm(x) * (1 + scale[:, None]) + shift[:, None], gate, shift_mlp, scale_mlp, gate_mlp


class AdaLayerNormZeroSingle(nn.Module):
    def __init__(self, embedding_dim, norm_type="layer_norm", bias=True):
        self.linear = nn.Linear(embedding_dim, 3 * embedding_dim)
        self.norm = nn.LayerNorm(embedding_dim)

    def forward(self, x, emb=None):
        shift, scale, gate = self.linear(emb).chunk(3, dim=1)
        return self.norm(x) * (1 + scale[:, None]) + shift[:, None], gate


class AdaLayerNormContinuous(nn.Module):
    def __init__(
        self, embedding_dim, conditioning_embedding_dim, elementwise_affine=True, eps=1e-5, bias=True,
        norm_type="layer_norm",
    ):
        self.linear = nn.Linear(conditioning_embedding_dim, embedding_dim * 2)
        self.norm = nn.LayerNorm(embedding_dim)

    def forward(self, x, conditioning_embedding):
        scale, shift = self.linear(conditioning_embedding).chunk(2, dim=1)
        return self.norm(x) * (1 + scale)[:, None, :] + shift[:, None, :]


class FeedForward(nn.Module):
    def __init__(
        self, dim, dim_out=None, mult=4, dropout=0.0, activation_fn="geglu", final_dropout=False, inner_dim=None,
        bias=True,
    ):
        self.project = nn.Linear(dim, inner_dim or int(dim * mult))
        self.out = nn.Linear(inner_dim or int(dim * mult), dim_out or dim)

    def forward(self, hidden_states, *args, **kwargs):
        return self.out(self.project(hidden_states))


class Attention(nn.Module):
    def __init__(
        self, query_dim, cross_attention_dim=None, heads=8, kv_heads=None, dim_head=64, dropout=0.0, bias=False,
        out_dim=None, out_context_dim=None, added_kv_proj_dim=None, **kwargs,
    ):
        self.is_joint = added_kv_proj_dim is not None
        self.proj = nn.Linear(query_dim, out_dim or query_dim)

    def forward(self, hidden_states, encoder_hidden_states=None, attention_mask=None, **kwargs):
        if self.is_joint:
            return unknown_results(hidden_states)
        return self.proj(hidden_states)


class BasicTransformerBlock(nn.Module):
    def __init__(self, dim, num_attention_heads, attention_head_dim, **kwargs):
        self.norm = nn.LayerNorm(dim)

    def forward(self, hidden_states, *args, **kwargs):
        return self.norm(hidden_states)


class TemporalBasicTransformerBlock(nn.Module):
    def __init__(self, dim, time_mix_inner_dim, num_attention_heads, attention_head_dim, cross_attention_dim=None):
        self.norm = nn.LayerNorm(dim)
        self.project = nn.Linear(dim, time_mix_inner_dim)

    def forward(self, hidden_states, num_frames, encoder_hidden_states=None):
        return self.project(self.norm(hidden_states))


class AlphaBlender(nn.Module):
    def __init__(self, alpha, merge_strategy="learned_with_images", switch_spatial_to_temporal_mix=False):
        self.alpha = alpha

    def forward(self, x_spatial, x_temporal, image_only_indicator=None):
        return x_spatial + x_temporal


class Timesteps(nn.Module):
    def __init__(self, num_channels, flip_sin_to_cos, downscale_freq_shift, scale=1):
        self.num_channels = num_channels

    def forward(self, timesteps):
        return torch.zeros(timesteps.shape[0], self.num_channels)


class TimestepEmbedding(nn.Module):
    def __init__(
        self, in_channels, time_embed_dim, act_fn="silu", out_dim=None, post_act_fn=None, cond_proj_dim=None,
        sample_proj_bias=True,
    ):
        self.linear_1 = nn.Linear(in_channels, time_embed_dim)
        self.linear_2 = nn.Linear(time_embed_dim, out_dim or time_embed_dim)

    def forward(self, sample, condition=None):
        return self.linear_2(self.linear_1(sample))


def get_timestep_embedding(timesteps, embedding_dim, flip_sin_to_cos=False, downscale_freq_shift=1, scale=1):
    return torch.zeros(timesteps.shape[0], embedding_dim)


def apply_rotary_emb(x, freqs_cis, use_real=True, use_real_unbind_dim=-1, sequence_dim=2):
    return x.clone()
"""
_TORCH = """
def checkpoint(function, *args, use_reentrant=None, context_fn=None, determinism_check=None, debug=None, **kwargs):
    return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    for function in functions:
        input = function(input)
    return input
"""
LIBRARY_SOURCES: Mapping[str, str] = {
    "timm": _TIMM,
    "torchvision": _TORCHVISION,
    "transformers": _TRANSFORMERS,
    "diffusers": _DIFFUSERS,
    "torch.utils.checkpoint": _TORCH,
}
"""The source of the definitions of each library, keyed by the module that exports them."""
LIBRARY_MODULES = {"box_ops", "boxes", "det_utils", "_utils", "misc", "ops"}
"""The library modules that code may import by name, as in `from torchvision.ops import boxes`."""
IDENTIFYING_IMPORTS: Mapping[str, str] = {
    "use_fused_attn": "timm",
    "maybe_add_mask": "timm",
    "build_model_with_cfg": "timm",
    "trunc_normal_tf_": "timm",
    "to_2tuple": "timm",
    "_log_api_usage_once": "torchvision",
    "box_ops": "torchvision",
    "_box_xywh_to_xyxy": "torchvision",
    "ConfigMixin": "diffusers",
    "register_to_config": "diffusers",
    "AttentionProcessor": "diffusers",
    "dispatch_attention_fn": "diffusers",
    "ACT2FN": "transformers",
    "ROPE_INIT_FUNCTIONS": "transformers",
    "PreTrainedModel": "transformers",
}
"""Names that identify the library to which a file belongs, because it imports them from its own package."""
