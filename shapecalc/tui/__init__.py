"""The Textual app, and what it knows: the lessons and how far a person has come in them."""
