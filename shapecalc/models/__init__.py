"""Read an ONNX model, judge it at several batch sizes, fix it, and prove the fix."""
