"""`shapecalc model`: what its options ask for, and its report as screens, lines and JSON."""
