"""Case files: answer, judge, rewrite and generate cases."""
