"""Explanations of two sizes that disagree, beside what chance would explain."""

from __future__ import annotations

import math
import random

import pytest

from shapecalc.diagnosis.reading import parse_messages
from shapecalc.reasoning.number_mismatch import KINDS, MismatchContext, describe_count, explain_number_mismatch
from tests.diagnosis.test_messages import FOLDER, SIGNS, messages
from tests.transcripts import transcripts

PLAIN = MismatchContext()
LOSS = MismatchContext(text="loss = criterion(outputs, labels)")
FEATURES = MismatchContext(is_features=True)
EXPLAINED = [
    ((256, 729), PLAIN, "squares", "256 = 16*16, 729 = 27*27"),
    ((197, 257), PLAIN, "squares", "197 = 14*14+1, 257 = 16*16+1"),
    ((4608, 16896), PLAIN, "squares", "4608 = 512+64*64, 16896 = 512+128*128"),
    ((150, 152), MismatchContext(axis=3), "stride", "152 = 4*38, 150 = 152-2"),
    ((512, 257), PLAIN, "spectrum", "257 = 512//2+1"),
    ((4, 3), FEATURES, "homogeneous", "4 and 3"),
    ((64, 128), MismatchContext(axis=1, is_features=True), "ratio", "128 = 2*64"),
    ((294912,), MismatchContext(target=(2, 1, 16, 34, 34, -1)), "side", "294912 = 32*32*32*9"),
    ((67968,), MismatchContext(target=(-1, 13, 13, 384)), "side", "67968 = 384*(13*13+8)"),
    ((212992000,), MismatchContext(target=(27, -1, 40, 128)), "neighbour", "212992000 = 26*1600*40*128"),
    (
        (14944, 448),
        MismatchContext(text="(None, 28), (None, 934)"),
        "text-ratio",
        "14944 = 16*934, 448 = 16*28",
    ),
    ((300, 301), MismatchContext(axis=3, text="h = layer(h, mask, c)"), "one-more", "301 = 300+1"),
    ((4, 3), MismatchContext(is_channel=True), "channels", "4 and 3 channels"),
    ((3, 4), MismatchContext(is_channel=True), "channels", "3 and 4 channels"),
    ((51200, 25088), FEATURES, "maps", "51200 = 512*10*10, 25088 = 512*7*7"),
    ((1024, 768), FEATURES, "encoder", "1024 and 768 features"),
    ((768, 3072), FEATURES, "encoder", "3072 = 4*768"),
    ((245, 180), FEATURES, "maps", "245 = 5*7*7, 180 = 5*6*6"),
    ((65536, 16384), FEATURES, "maps", "65536 = 16384*2*2"),
    ((937, 512), MismatchContext(text="embeddings += position_embeddings"), "positions", "512 positions, 937 tokens"),
    ((101, 20), MismatchContext(axis=1), "classes", "101 and 20 classes"),
    ((6, 18), MismatchContext(axis=0), "ratio", "18 = 3*6, at dim 0"),
    ((4608, 1536), PLAIN, "squares", "4608 = 512+64*64, 1536 = 512+32*32"),
    ((67800,), MismatchContext(target=(8, 1, 112, 74)), "rounding", "67800 = 8*113*75"),
    ((36992, 10368), PLAIN, "maps", "36992 = 128*17*17, 10368 = 128*9*9"),
    ((2304, 256), PLAIN, "maps", "2304 = 256*3*3"),
    ((33554432,), MismatchContext(target=(16, 2048, 32, 128)), "heads", "33554432 = 16*2048*8*128"),
    ((784, 1024), FEATURES, "flat-pictures", "784 = 28*28, 1024 = 32*32"),
    ((12288, 784), FEATURES, "flat-pictures", "12288 = 3*64*64, 784 = 28*28"),
    ((26, 416), PLAIN, "ratio", "416 = 16*26"),
    ((5876, 7232), PLAIN, "shared-factor", "5876 = 452*13, 7232 = 452*16"),
    ((725, 724), MismatchContext(text="npfft.irfft(x)"), "one-more", "725 = 724+1, an odd and an even length"),
    ((1230, 1231), LOSS, "one-more", "1231 = 1230+1"),
    ((197, 196), PLAIN, "one-more", "197 = 14*14+1, 196 = 14*14"),
    ((58, 128), MismatchContext(axis=0, text="for batch in loader"), "last-batch", "58 < 128, at dim 0"),
    ((17400,), MismatchContext(target=(128, 300)), "last-batch", "17400 = 58*300"),
    ((16, 10), PLAIN, "classes", "16 labels, 10 classes"),
    ((2, 208), MismatchContext(axis=1, text="x.detach() - target", is_channel=None), "classes", "2 and 208 at dim 1"),
    ((64, 384), MismatchContext(is_features=True, text="Flux Fill"), "encoder", "64 and 384 features"),
    (
        (40, 36),
        MismatchContext(is_features=True, text="GCN(node_features = 4); nn.Linear(32, 1)"),
        "setting",
        "36 = 4+32, 40 = 8+32",
    ),
    ((5376, 4725), PLAIN, "pyramids", "5376 = 21*16*16, 4725 = 21*15*15"),
    ((1867, 1876), PLAIN, "digits", "1867 and 1876 have the same digits"),
    ((9687, 9686), MismatchContext(is_weight=True), "one-more", "9687 = 9686+1"),
    ((0, 5), PLAIN, "empty", "the first is 0"),
    ((225, 16), MismatchContext(is_divisor=True), "multiple", "225 = 14*16+1"),
    ((304, 624), MismatchContext(text="the shape of the mask"), "difference", "624 = 304+320"),
    ((1966080,), MismatchContext(target=(-1, 3, 80, 1280)), "one-size", "1966080 = 512*3*1280"),
    ((51529,), MismatchContext(target=(-1, 227, 227, 10)), "one-size", "51529 = 227*227"),
    ((640, 320), MismatchContext(axis=1), "ratio", "640 = 2*320"),
    ((16648, 16384), MismatchContext(axis=2), "positions", "16648 = 16384+264"),
    ((384, 1024), FEATURES, "encoder", "384 and 1024 features"),
    ((1, 0), FEATURES, "empty", "0 features expected"),
    ((266, 265), MismatchContext(is_length=True), "one-more", "266 = 265+1"),
    ((4, 3), MismatchContext(axis=0, is_channel=None), "channels", "4 and 3 at dim 0"),
    ((2304,), MismatchContext(target=(1, 6912)), "channels", "2304 = 48*48, 6912 = 3*48*48"),
    ((1,), MismatchContext(target=(1, 12, 30)), "scalar", "1 element"),
    ((1, 10), MismatchContext(is_length=True, text="model.fit(x, y)"), "single-row", "1 and 10 rows"),
    ((16, 48), MismatchContext(axis=1), "latents", "16 and 48 channels"),
    ((8, 4), MismatchContext(axis=1, is_features=True, text="weight 320, 4"), "latents", "8 and 4 channels"),
    ((1568, 32), MismatchContext(is_loss=True), "loss-batch", "1568 = 32*7*7"),
    ((8, 32), MismatchContext(is_loss=True), "loss-batch", "32 = 8*4"),
    ((103, 95), MismatchContext(is_loss=True), "loss-batch", "103 = 95+8"),
    ((1216, 1280), MismatchContext(is_loss=True), "loss-batch", "1280 = 1216+64"),
    ((8, 2744), MismatchContext(text="x + self.position_embeddings"), "cubes", "8 = 2*2*2, 2744 = 14*14*14"),
    ((3, 4), MismatchContext(axis=2), "one-more", "4 = 3+1, an odd and an even length"),
    ((4194304, 3686400), PLAIN, "squares", "4194304 = 2048*2048, 3686400 = 1920*1920"),
    ((77, 154), PLAIN, "positions", "154 = 2*77"),
    ((32, 64), MismatchContext(is_loader_independent=True, text="torch.cat([x, skip], dim=1)"), "ratio", "64 = 2*32"),
    ((3559040,), MismatchContext(target=(1, 50, 40, 640)), "map", "3559040 = 640*83*67"),
    ((3969,), MismatchContext(target=(2, -1), text="attention_mask.view"), "square-mask", "3969 = 63*63"),
    ((5,), MismatchContext(target=(2, 2), text="confusionMatrix = count.reshape"), "confusion", "5 counts, 4 = 2*2"),
    ((3, 27), FEATURES, "pixels", "27 = 3*3*3"),
    ((3, 768), FEATURES, "pixels", "768 = 3*16*16"),
    ((73920,), MismatchContext(target=(462, 8, 40)), "prompts", "231 = 3*77, 462 = 6*77"),
    ((196608,), MismatchContext(target=(12, 320, 51)), "floored", "196608 = 3840*51.2"),
    ((14, 9), MismatchContext(axis=1, is_features=True, text="comfy"), "latents", "14 = 9+5"),
    ((3509, 7017), MismatchContext(axis=3, text="attn_mask"), "counted-twice", "7017 = 2*3509-1"),
    ((33024,), MismatchContext(target=(-1, 2, 768)), "groups", "33024 = 43*768"),
    ((16711680,), MismatchContext(target=(16, 3, 49, 64, 64)), "boxes", "255 = 3*(80+5), 147 = 3*(44+5)"),
    ((9907170,), MismatchContext(target=(65536,), text="img_to_array(label)"), "picture", "65536 = 256*256"),
    ((73, 64), MismatchContext(axis=3, text="584x1013 512x512"), "latent-sides", "73 = 584//8, 64 = 512//8"),
    ((2096, 304), MismatchContext(axis=1, is_features=True), "joined-widths", "2096 = 2048+48, 304 = 256+48"),
]
MAX_RANDOM_SHARE = 0.05
MAX_SHUFFLED_SHARE = 0.10


@pytest.mark.parametrize(("figures", "context", "kind", "arithmetic"), EXPLAINED)
def test_explain_table(figures, context, kind, arithmetic):
    assert (kind, arithmetic) in [(found.kind, found.arithmetic) for found in explain_number_mismatch(figures, context)]


def test_explain_table_covers_every_kind():
    assert {kind for _, _, kind, _ in EXPLAINED} == {*KINDS}


def test_explain_equal_or_negative_sizes_is_empty():
    assert explain_number_mismatch((5, 5)) == explain_number_mismatch((-1, 5)) == ()


@pytest.mark.parametrize(("figures", "context"), [row[:2] for row in EXPLAINED])
def test_explain_arithmetic_is_true(figures, context):
    for found in explain_number_mismatch(figures, context):
        for equation in found.arithmetic.removesuffix(", at dim 0").split(", "):
            left, equals, right = equation.partition(" = ")
            assert not equals or eval(right) == int(left), equation


def test_explain_random_pairs_rarely():
    draw = random.Random(5)
    pairs = [tuple(round(math.exp(draw.uniform(math.log(2), math.log(1e6)))) for _ in range(2)) for _ in range(5000)]
    explained = [pair for pair in pairs if explain_number_mismatch(pair)]
    assert 0 < len(explained) <= MAX_RANDOM_SHARE * len(pairs)


def test_explain_shuffled_messages_rarely():
    texts = [text for lines in transcripts(FOLDER, SIGNS) for text, _ in messages(lines.values[0])]
    pairs = [pair for text in texts for message in parse_messages(text) if (pair := message.pair)]
    pairs = [pair for pair in pairs if min(pair) > 1 and pair[0] != pair[1]]
    draw, shuffled = random.Random(5), []
    for _ in range(20):
        expected = [pair[1] for pair in pairs]
        draw.shuffle(expected)
        shuffled += [(pair[0], other) for pair, other in zip(pairs, expected, strict=True) if pair[0] != other]
    explained = [pair for pair in shuffled if explain_number_mismatch(pair)]
    assert len(pairs) > 20
    assert len(explained) <= MAX_SHUFFLED_SHARE * len(shuffled), len(explained) / len(shuffled)


def test_describe_random_numbers_rarely():
    draw = random.Random(5)
    numbers = [round(math.exp(draw.uniform(math.log(500), math.log(1e6)))) for _ in range(3000)]
    described = [number for number in numbers if describe_count(number)]
    assert 0 < len(described) <= MAX_RANDOM_SHARE * len(numbers), len(described) / len(numbers)
