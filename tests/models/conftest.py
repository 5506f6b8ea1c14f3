"""Exclude modules that need the environments of exporters."""

collect_ignore = ["torch_models.py", "tensorflow_models.py"]
