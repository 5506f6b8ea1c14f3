"""What can be said of whole chains: whether two are the same function."""
