"""The parts of an answer: requests, stages, steps and traces, and the path of one element through them."""
