"""ONNX models at other batch sizes: reading, judging, fixing, proving, writing."""
