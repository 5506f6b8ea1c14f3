"""Modules for the environments of exporters, which those of the tests do not have."""

collect_ignore = ["torch_models.py", "tensorflow_models.py"]
