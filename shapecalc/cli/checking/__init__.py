"""`shapecalc check`, in parts: lines are read, judged, and the results written."""
