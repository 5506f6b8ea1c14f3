"""What an answer is made of: requests, stages, steps, traces; and one element's way through them."""
