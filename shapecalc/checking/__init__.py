"""Case files: answer, check, rewrite and generate cases."""
