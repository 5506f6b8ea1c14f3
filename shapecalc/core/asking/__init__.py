"""Questions and their answers: requests made of texts and options, defaults, command lines, and the resolver."""
