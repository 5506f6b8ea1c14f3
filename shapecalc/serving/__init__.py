"""The terminal app in a browser, served only to holders of the address."""
