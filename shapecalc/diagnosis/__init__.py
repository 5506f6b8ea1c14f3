"""The doctor: diagnoses of shape errors in messages of frameworks and runtimes."""
