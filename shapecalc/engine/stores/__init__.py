"""Arrays beyond memory: a chain carried out on a store, box by box, here or on a cluster."""
