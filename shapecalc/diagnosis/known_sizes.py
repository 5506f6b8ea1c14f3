"""Sizes of widely used models: vocabularies, numbers of classes, images and boxes."""

from __future__ import annotations

from collections.abc import Mapping

VOCABULARIES: Mapping[int, str] = {
    21128: "bert-base-chinese",
    28996: "bert-base-cased",
    30522: "bert-base-uncased",
    32128: "T5",
    49408: "CLIP",
    50257: "GPT-2",
    50265: "RoBERTa and BART",
    105879: "bert-base-multilingual-uncased",
    119547: "bert-base-multilingual-cased",
    128256: "Llama 3",
    250002: "XLM-RoBERTa",
}
"""The models, keyed by vocabulary size. Source: their config.json on the Hugging Face Hub."""
CLASSES: Mapping[int, str] = {
    20: "VOC's classes",
    21: "VOC's 20 classes and a background",
    25: "a box, a score and VOC's 20 classes",
    80: "COCO's classes",
    81: "COCO's 80 classes and a background",
    85: "a box, a score and COCO's 80 classes",
    90: "COCO's class numbers",
    91: "COCO's class numbers with a background",
    1000: "ImageNet's classes",
    1001: "ImageNet's classes and a background",
}
"""The meanings of output counts. Source: the documentation of VOC, COCO, ImageNet and YOLO."""
ANCHORS = (3, 9, 6, 4)
"""The usual numbers of boxes at each position of a map: YOLO, RetinaNet and SSD (the papers of each)."""
MIN_SINGLE = 80
"""The minimum number of outputs that may be classes without anchors."""
MIN_IMAGE_SIDE = 8
"""The minimum height and width of an image."""
POSE_SIZES = ((256, 192), (384, 288))
"""The input sizes of pose models. Source: the configurations of HRNet and ViTPose."""
DETECTOR_SIDES = (320, 416, 512, 608, 640, 1280)
"""The usual sides of pictures for detectors (the configurations of YOLO and SSD)."""
IMAGE_SIDES = (96, 128, 160, 192, 224, 256, 299, 384, *DETECTOR_SIDES)
"""The usual sides of pictures for detectors and classifiers (the papers of MobileNetV2, Inception v3 and ViT)."""
BOX_COUNTS = (100, 300, 1000, 2000)
"""The usual numbers of proposals and detections (TensorFlow Object Detection API, Detectron2)."""


def describe_class_counts(outputs: int, other_outputs: int) -> str:
    """Describe two numbers of outputs as anchors times known class counts, or return an empty string.

    >>> describe_class_counts(63, 273)
    "63 = 3*21 would be VOC's 20 classes and a background, 273 = 3*91 COCO's class numbers with a background"
    """
    for anchors in (*ANCHORS, *([1] if min(outputs, other_outputs) >= MIN_SINGLE else [])):
        sizes = [(size, size // anchors) for size in (outputs, other_outputs) if size % anchors == 0]
        if len(sizes) == 2 and outputs != other_outputs and all(classes in CLASSES for _, classes in sizes):
            product = f"{anchors}*" if anchors > 1 else ""
            texts = [f"{size}{f' = {product}{each}' if product else ''}" for size, each in sizes]
            return f"{texts[0]} would be {CLASSES[sizes[0][1]]}, {texts[1]} {CLASSES[sizes[1][1]]}"
    return ""
