"""Export PyTorch models for `export.py`: torchvision, timm, transformers, small heads; random weights."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import product

import torch
from torch import nn

from tests.models.export import listed


def models():
    """Yield names, constructors and inputs of models."""
    for library, module, make, given in (
        ("torchvision", "torchvision.models", "get_model", {"weights": None}),
        ("timm", "timm", "create_model", {"pretrained": False}),
    ):
        if find_spec(library):
            made = getattr(import_module(module), make)
            for name, size in listed(library).items():
                made_name = name if library == "torchvision" else f"timm_{name}"
                yield made_name, partial(made, name, **given), (torch.randn(1, 3, size, size),)
    for name, head, shape in heads():
        yield name, lambda head=head: head, (torch.randn(*shape),)
    if find_spec("transformers"):
        tokens = torch.ones(1, 16, dtype=torch.long)
        for name, make in language_models(import_module("transformers")):
            yield f"hub_{name}", make, (tokens, torch.ones_like(tokens))


class Head(nn.Module):
    """A model of layers and a function that applies them."""

    def __init__(self, work, **layers):
        super().__init__()
        self.work = work
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, x):
        return self.work(self, x)


def detect(how, head, x):
    """Return boxes, with the batch size hard-coded in one of the usual ways."""
    y = head.conv(x)
    batch, _, rows, columns = y.shape
    if how in ("shape", "one"):
        batch = batch if how == "shape" else 1
        return y.view(batch, 3, 8, rows, columns).permute(0, 1, 3, 4, 2).reshape(batch, -1, 8)
    if how == "swallow":
        return y.permute(0, 2, 3, 1).reshape(1, -1, 24)
    if how == "scramble":
        return y.reshape(8, -1).softmax(1)
    return torch.cat([each.flatten(1) for each in y.chunk(3, 1)], 1)


def shuffle(_, x):
    batch, channels, rows, columns = x.shape
    x = x.view(batch, 3, channels // 3, rows, columns).transpose(1, 2).contiguous()
    return nn.functional.pixel_shuffle(x.view(batch, -1, rows, columns).repeat(1, 4, 1, 1), 2)


def attend(head, x):
    x = nn.functional.linear(x.flatten(2).transpose(1, 2), torch.ones(12, 3))
    return head.layer(torch.cat([head.token.expand(x.shape[0], -1, -1), x], 1))


def recur(head, x):
    return head.cell(x.flatten(2).transpose(1, 2)[:, :, :].repeat(1, 1, 4))[0].flatten(1)


def heads():
    """Yield names, models and input shapes of small heads."""
    for how in ("shape", "one", "swallow", "scramble", "chunk"):
        yield f"detector_{how}", Head(partial(detect, how), conv=nn.Conv2d(3, 24, 4, 4)), (1, 3, 32, 32)
    yield "shuffle", Head(shuffle), (1, 12, 8, 8)
    layers = {"token": nn.Parameter(torch.zeros(1, 1, 12)), "layer": nn.TransformerEncoderLayer(12, 3, 24)}
    yield "token", Head(attend, **layers), (1, 3, 8, 8)
    yield "recurrent", Head(recur, cell=nn.LSTM(12, 8, batch_first=True, bidirectional=True)), (1, 3, 4, 4)


class Plain(nn.Module):
    """A language model with tokens and a mask as inputs, and one output tensor."""

    def __init__(self, kind, config):
        super().__init__()
        self.inner = kind(config)
        self.given = {"use_cache": False} if hasattr(config, "use_cache") else {}

    def forward(self, tokens, mask):
        return self.inner(tokens, attention_mask=mask, return_dict=False, **self.given)[0]


def language_models(hub):
    """Yield small language models by name."""
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    gpt = {"n_embd": 32, "n_layer": 2, "n_head": 4}
    for kind in ("Bert", "Roberta", "Electra", "Albert", "DebertaV2", "MPNet", "GPT2", "Llama"):
        if config := getattr(hub, f"{kind}Config", None):
            made = config(vocab_size=100, **(gpt if kind == "GPT2" else small))
            yield kind.lower(), partial(Plain, getattr(hub, f"{kind}Model"), made)


def export_model(make, inputs, new, free, path):
    """Export a model with the new exporter or the old one."""
    names = [f"x{place}" for place in range(len(inputs))]
    model = make().eval()
    if not new:
        axes = {name: {0: "batch"} for name in names} if free else None
        old = {"dynamo": False, "input_names": names, "dynamic_axes": axes, "opset_version": 17}
        torch.onnx.export(model, inputs, str(path), **old)
        return
    shapes = None
    if free:
        inputs, batch = tuple(torch.cat([each, each]) for each in inputs), torch.export.Dim("batch", min=1, max=1024)
        shapes = tuple({0: batch} for _ in inputs)
    options = {"dynamo": True, "input_names": names, "dynamic_shapes": shapes, "optimize": True, "verbose": False}
    torch.onnx.export(model, inputs, **options).save(str(path), external_data=False)


def exports():
    """Yield file names and their writers: each model, with both exporters, with a free and a fixed batch."""
    torch.set_grad_enabled(False)
    for name, make, inputs in models():
        for new, free in product((False, True), repeat=2):
            file = f"{name}-{'new' if new else 'old'}-{'free' if free else 'one'}"
            yield file, partial(export_model, make, inputs, new, free)
