"""What would make a refused request resolve: one search, asked again before it is offered, and the hints made of it."""
