"""Export TensorFlow and Keras models with tf2onnx for `export.py`; random weights."""

from __future__ import annotations

from functools import partial

import keras
import onnx
import tensorflow as tf
import tf2onnx

from tests.models.export import listed

of = keras.layers


def models():
    """Yield names, constructors and input shapes without the batch of models."""
    for name, size in listed("keras").items():
        make, shape = getattr(keras.applications, name), (size, size, 3)
        yield f"keras_{name.lower()}", partial(make, weights=None, input_shape=shape), shape
    for name, row in layers().items():
        yield f"keras_{name}", partial(keras.Sequential, row), (32, 32, 3)
    yield "keras_attention", attention, (16, 12)
    for name, way in WAYS.items():
        yield f"tf_{name}", lambda way=way: way, (32, 32, 3)


def layers():
    """Return a model of permuting and cropping layers."""
    return {
        "flat": [of.Conv2D(8, 3, strides=2), of.Flatten(), of.Dense(5)],
        "reshape": [of.Conv2D(24, 4, 4), of.Reshape((-1, 8)), of.Softmax()],
        "permute": [of.Conv2D(8, 4, 4), of.Permute((3, 1, 2)), of.Reshape((8, -1)), of.Dense(4)],
        "upsample": [of.Conv2D(8, 3), of.UpSampling2D(2), of.Conv2DTranspose(4, 3, strides=2), of.Cropping2D(2)],
        "lstm": [of.Conv2D(8, 4, 4), of.Reshape((-1, 8)), of.Bidirectional(of.LSTM(6, return_sequences=True))],
        "gru": [of.Conv2D(8, 4, 4), of.Reshape((-1, 8)), of.GRU(6)],
        "distributed": [of.TimeDistributed(of.Dense(4)), of.GlobalAveragePooling2D(), of.RepeatVector(3)],
        "norms": [of.Conv2D(8, 3), of.GroupNormalization(4), of.LayerNormalization(), of.GlobalMaxPooling2D()],
    }


def attention():
    read = keras.Input((16, 12))
    met = of.MultiHeadAttention(3, 4)(read, read)
    return keras.Model(read, of.LayerNormalization()(met + read))


def read(x):
    size = tf.shape(x)
    return tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (size[0], size[3], size[1] * size[2]))


def tiled(x):
    token = tf.tile(tf.zeros((1, 1, 3)), (tf.shape(x)[0], 1, 1))
    return tf.concat([token, tf.reshape(x, (tf.shape(x)[0], -1, 3))], 1)


def parted(x):
    parts = tf.unstack(tf.image.resize(x, (8, 8)), axis=3)
    return tf.stack([tf.squeeze(tf.expand_dims(part, 1), 1) for part in parts], 1)


def looped(x):
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2.0), (0, tf.reshape(x, (-1, 3))))[1]


WAYS = {
    "read": read,
    "one": lambda x: tf.reshape(tf.transpose(tf.reshape(x, (1, 32, 32, 3)), (0, 3, 1, 2)), (1, 3, 1024)),
    "swallow": lambda x: tf.nn.softmax(tf.reshape(x, (1, -1, 3))),
    "scramble": lambda x: tf.nn.softmax(tf.reshape(x, (8, -1))),
    "tiled": tiled,
    "parted": parted,
    "looped": looped,
    "blocks": lambda x: tf.nn.space_to_depth(tf.nn.depth_to_space(tf.tile(x, (1, 1, 1, 4)), 2), 4),
    "patches": lambda x: tf.image.extract_patches(x, (1, 4, 4, 1), (1, 4, 4, 1), (1, 1, 1, 1), "VALID"),
    "sum": lambda x: tf.einsum("bhwc,bhwd->bcd", x, x),
    "spaces": lambda x: tf.batch_to_space(tf.space_to_batch(x, (2, 2), ((0, 0), (0, 0))), (2, 2), ((0, 0), (0, 0))),
}
"""Functions with the batch size hard-coded or read from the shape, in the usual ways."""


def export_model(make, shape, free, path):
    """Export a model."""
    model, size = make(), None if free else 1
    signature = [tf.TensorSpec((size, *shape), tf.float32, name="x")]
    made, _ = tf2onnx.convert.from_function(tf.function(lambda x: model(x)), signature, opset=17)
    onnx.checker.check_model(made)  # tf2onnx passes unknown operators through
    onnx.save(made, path)


def exports():
    """Yield file names and their writers: each model, with a free and a fixed batch."""
    for name, make, shape in models():
        for free in (False, True):
            yield f"{name}-{'free' if free else 'one'}", partial(export_model, make, shape, free)
