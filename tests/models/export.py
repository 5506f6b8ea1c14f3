"""Real exports: models that exporters write, judged, and held against ONNX Runtime at batch sizes that were not walked.

    python tests/models/export.py export FOLDER [NAME...]  where torch, torchvision, timm and transformers are, and
                                                           where tensorflow and tf2onnx are
    python tests/models/export.py judge FOLDER...          where shapecalc, onnx and onnxruntime are

Names are beginnings of models' names; without any all models are exported.

Each runs in an environment of its own, and none in the tests: the exporters are large. Of the exporters
that are not installed nothing is written. Weights are drawn, none are loaded. A folder may hold any other `.onnx`
files. They are told apart by a hash of their names into those to tune on and those held back.
"""

from __future__ import annotations

import sys
import zlib
from functools import partial
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.models.tensorflow_models import export_tensorflow

SIZES = (2, 4)
"""The batch sizes to run: one that was walked, and one that was not."""
LARGEST = 1 << 28
"""The bytes above which a model is judged and not run."""


def torch_models():
    """Yield models of torch by name: how they are made, and their inputs."""
    import torch

    image = lambda size: (torch.randn(1, 3, size, size),)  # noqa: E731
    try:
        import torchvision.models as vision
    except ImportError:
        vision = None
    for name, size in VISION.items() if vision else ():
        yield name, lambda name=name: getattr(vision, name)(weights=None), image(size)
    try:
        import timm
    except ImportError:
        timm = None
    for name in TIMM if timm else ():
        yield f"timm_{name}", lambda name=name: timm.create_model(name, pretrained=False), image(224)
    yield from heads(torch)
    yield from language_models(torch)


VISION = {
    "resnet18": 64,
    "mobilenet_v3_small": 64,
    "shufflenet_v2_x0_5": 64,
    "squeezenet1_0": 64,
    "googlenet": 96,
    "densenet121": 64,
    "efficientnet_b0": 64,
    "regnet_y_400mf": 64,
    "mnasnet0_5": 64,
    "convnext_tiny": 64,
    "swin_t": 64,
    "swin_v2_t": 64,
    "maxvit_t": 224,
    "vit_b_32": 224,
}
TIMM = (
    "mixer_s32_224",
    "levit_128s",
    "xcit_nano_12_p16_224",
    "coat_lite_tiny",
    "crossvit_tiny_240",
    "pit_ti_224",
    "poolformer_s12",
    "mobilevit_xxs",
    "edgenext_xx_small",
    "ghostnet_050",
    "repvgg_a0",
    "twins_pcpvt_small",
    "gmlp_s16_224",
    "resmlp_12_224",
    "visformer_tiny",
    "efficientformer_l1",
    "deit_tiny_patch16_224",
    "beit_base_patch16_224",
)


def heads(torch):  # noqa: C901 - each is a class of its own
    """Yield small heads with the batch written in, in the ways in which people write it."""
    nn = torch.nn

    class Detector(nn.Module):
        def __init__(self, how):
            super().__init__()
            self.how, self.conv = how, nn.Conv2d(3, 24, 4, 4)

        def forward(self, x):
            y = self.conv(x)
            batch, _, rows, columns = y.shape
            if self.how == "shape":
                y = y.view(batch, 3, 8, rows, columns).permute(0, 1, 3, 4, 2)
                return y.reshape(batch, -1, 8)
            if self.how == "one":
                return y.view(1, 3, 8, rows, columns).permute(0, 1, 3, 4, 2).reshape(1, -1, 8)
            if self.how == "swallow":
                return y.permute(0, 2, 3, 1).reshape(1, -1, 24)
            if self.how == "scramble":
                return y.reshape(8, -1).softmax(1)
            return torch.cat([each.flatten(1) for each in y.chunk(3, 1)], 1)

    class Shuffle(nn.Module):
        def forward(self, x):
            batch, channels, rows, columns = x.shape
            x = x.view(batch, 3, channels // 3, rows, columns).transpose(1, 2).contiguous()
            return nn.functional.pixel_shuffle(x.view(batch, -1, rows, columns).repeat(1, 4, 1, 1), 2)

    class Token(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.layer = nn.Parameter(torch.zeros(1, 1, 12)), nn.TransformerEncoderLayer(12, 3, 24)

        def forward(self, x):
            x = x.flatten(2).transpose(1, 2)
            x = torch.nn.functional.linear(x, torch.ones(12, 3))
            return self.layer(torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTM(12, 8, batch_first=True, bidirectional=True)

        def forward(self, x):
            return self.cell(x.flatten(2).transpose(1, 2)[:, :, :].repeat(1, 1, 4))[0].flatten(1)

    for how in ("shape", "one", "swallow", "scramble", "chunk"):
        yield f"detector_{how}", lambda how=how: Detector(how), (torch.randn(1, 3, 32, 32),)
    yield "shuffle", Shuffle, (torch.randn(1, 12, 8, 8),)
    yield "token", Token, (torch.randn(1, 3, 8, 8),)
    yield "recurrent", Recurrent, (torch.randn(1, 3, 4, 4),)


def language_models(torch):
    """Yield small language models."""
    try:
        import transformers as hub
    except ImportError:
        return
    tokens = torch.ones(1, 16, dtype=torch.long)
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    for kind in ("Bert", "Roberta", "Electra", "Albert", "DebertaV2", "MPNet"):
        config = getattr(hub, f"{kind}Config", None)
        if config is not None:
            yield (
                f"hub_{kind.lower()}",
                lambda kind=kind, config=config: _plain(
                    torch, getattr(hub, f"{kind}Model")(config(vocab_size=100, **small))
                ),
                (tokens, torch.ones_like(tokens)),
            )
    gpt = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100}
    yield "hub_gpt2", lambda: _plain(torch, hub.GPT2Model(hub.GPT2Config(**gpt))), (tokens, torch.ones_like(tokens))
    yield (
        "hub_llama",
        lambda: _plain(torch, hub.LlamaModel(hub.LlamaConfig(vocab_size=100, **small))),
        (tokens, torch.ones_like(tokens)),
    )


def _plain(torch, model):
    """Return a model that takes tokens and a mask, and gives one tensor."""

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, tokens, mask):
            return (
                self.inner(tokens, attention_mask=mask, return_dict=False, use_cache=False)[0]
                if hasattr(model.config, "use_cache")
                else self.inner(tokens, attention_mask=mask, return_dict=False)[0]
            )

    return Plain()


def export(folder, beginnings):
    """Write the models of the exporters that are installed."""
    folder.mkdir(parents=True, exist_ok=True)
    exporters = {"torch": export_torch, "tf2onnx": export_tensorflow}
    for library, exported in exporters.items():
        if find_spec(library):
            exported(folder, lambda name: name.startswith(beginnings or ("",)), partial(print, flush=True))


def export_torch(folder, wanted, said):
    """Write the models of torch by both exporters, with a batch that is free and with one that is not."""
    import torch

    for name, make, inputs in torch_models():
        if not wanted(name):
            continue
        for new in (False, True):
            for free in (False, True):
                path = folder / f"{name}-{'new' if new else 'old'}-{'free' if free else 'one'}.onnx"
                if path.exists():
                    continue
                try:
                    with torch.no_grad():
                        write(torch, make().eval(), inputs, path, new=new, free=free)
                    said(path.name)
                except Exception as error:
                    said(f"{path.name}: not exported: {type(error).__name__}: {str(error).splitlines()[:1]}")


def write(torch, model, inputs, path, *, new, free):
    names = [f"x{place}" for place in range(len(inputs))]
    if new:
        shapes = None
        if free:
            batch = torch.export.Dim("batch", min=1, max=1024)
            inputs = tuple(torch.cat([each, each]) for each in inputs)
            shapes = tuple({0: batch} for _ in inputs)
        made = torch.onnx.export(
            model, inputs, dynamo=True, input_names=names, dynamic_shapes=shapes, optimize=True, verbose=False
        )
        made.save(str(path), external_data=False)
    else:
        axes = {name: {0: "batch"} for name in names} if free else None
        torch.onnx.export(
            model, inputs, str(path), dynamo=False, input_names=names, dynamic_axes=axes, opset_version=17
        )


def judge(folders):
    """Print for each model and in all how many shapes are told, and how many of these are wrong."""
    totals = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.onnx")):
            group = "tuned" if zlib.crc32(path.name.encode()) % 2 else "held"
            try:
                counts, notes = held_against(path)
            except Exception as error:
                counts, notes = {"crashed": 1}, [f"{type(error).__name__}: {error}"]
            for key, count in counts.items():
                totals[group, key] = totals.get((group, key), 0) + count
            print(path.name, counts, *notes[:6], sep="  ", flush=True)
    for (group, key), count in sorted(totals.items()):
        print(group, key, count)


def held_against(path):
    """Return what was counted in a model, and notes on what differs."""
    from shapecalc.models.free_dims import SizeOptions
    from shapecalc.models.judge import report_of

    report = report_of(path, SizeOptions(sizes=(1, 2, 3)))
    nodes = report.nodes
    counts = {"nodes": len(nodes), "told": sum(each.input is not None and None not in each.input for each in nodes)}
    counts |= {"unknown": sum(each.verdict.value == "unknown" for each in nodes), "wrong": 0, "missed": 0, "false": 0}
    if path.stat().st_size > LARGEST:
        return counts, ["not run"]
    notes = [f"{each.node.op} {each.node.name}: {each.why}" for each in nodes if each.verdict.value == "unknown"][:2]
    for batch in sorted({report.declared_batch or 1, *SIZES}):
        compare(path, report, batch, counts, notes)
    return counts, notes


def compare(path, report, batch, counts, notes):
    """Run a model at a batch size, and count the shapes that are not as told, and failures that nobody told of.

    What swallows the batch does not fail itself; what fails below it is told with it.
    """
    from shapecalc.models.verdicts import OFFENCES

    found, failed = run(path, report, batch)
    failing = [each for each in report.nodes if "/" not in each.node.path and each.runs.get(batch) == "fails"]
    offending = [each for each in report.nodes if each.verdict in OFFENCES]
    if failed and not failing and not offending and not report.stops and batch in report.sizes:
        counts["missed"] += 1
        notes.append(f"N={batch}: fails, and nothing was told: {failed[:200]}")
    if not failed and failing and batch in report.sizes:
        counts["false"] += 1
        notes.append(f"N={batch}: runs, and {failing[0].node.name} was told to fail")
    for each in report.nodes:
        seen = found.get(each.tensors[0][0])
        if seen is None or each.input is None or "/" in each.node.path:
            continue
        counts["held"] = counts.get("held", 0) + 1
        wanted = [size_of(dim, {**report.assumed, report.batch: batch}) for dim in each.input]
        if len(wanted) != len(seen) or any(a is not None and a != b for a, b in zip(wanted, seen, strict=True)):
            counts["wrong"] += 1
            notes.append(f"N={batch}: {each.node.op} {each.node.name}: told {each.input}, is {seen}")


def size_of(dim, sizes):
    """Return the number that a told dim is at some sizes."""
    from shapecalc.core.dims import substitute
    from shapecalc.models.free_dims import Sum

    if isinstance(dim, Sum):
        return sum(substitute(term, sizes) for term in dim.terms)
    return None if dim is None else substitute(dim, sizes)


def run(path, report, batch):
    """Return the shapes of all tensors of the graph by name, and how ONNX Runtime fails, if it does."""
    import numpy as np
    import onnx
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    model = onnx.load(path)
    kinds = {each.name: each for each in model.graph.input}
    sizes = {**report.assumed, report.batch: batch}
    feeds = {}
    for each in report.inputs:
        tensor = kinds[each.name].type.tensor_type
        if each.taken is None:
            return {}, ""
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in each.taken]
        for dim, size in zip(tensor.shape.dim, shape, strict=True):
            dim.dim_value = size
        feeds[each.name] = np.ones(shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    have = {each.name for each in model.graph.output} | {each.name for each in model.graph.initializer} | {*feeds}
    wanted = {each.tensors[0][0] for each in report.nodes if "/" not in each.node.path} - have
    model.graph.output.extend([onnx.helper.make_empty_tensor_value_info(name) for name in sorted(wanted)])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        outputs = session.run(None, feeds)
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        return {}, str(error)
    shapes = {each.name: np.shape(array) for each, array in zip(session.get_outputs(), outputs, strict=True)}
    return shapes | {name: array.shape for name, array in feeds.items()}, ""


if __name__ == "__main__":
    if sys.argv[1] == "export":
        export(Path(sys.argv[2]), tuple(sys.argv[3:]))
    else:
        judge([Path(folder) for folder in sys.argv[2:]])
