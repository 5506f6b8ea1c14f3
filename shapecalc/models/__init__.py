"""ONNX models: read, walked with numbers at several batch sizes, named, judged, mended and proved."""
