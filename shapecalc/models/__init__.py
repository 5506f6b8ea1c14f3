"""Read an ONNX model, check it at several batch sizes, fix it, and prove the fix."""
