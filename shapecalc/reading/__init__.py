"""Parse command lines, chains, code and case files into requests."""
