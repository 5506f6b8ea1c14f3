"""The ground floor: dims, conditions, how shapes are read, written and quoted, problems."""
