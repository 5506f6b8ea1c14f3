"""The terminal app in a browser: a web server that trusts nobody who does not have its address."""
