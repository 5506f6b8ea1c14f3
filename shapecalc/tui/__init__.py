"""The terminal app, built with Textual.

A question is a shapecalc command line; the app displays its answer step by step. In learning mode, the user predicts
dims before the app shows them; a blank is a dim to predict.
"""
