"""Lessons and exercises: questions to predict, what is said to a prediction, and how far a person has come."""
