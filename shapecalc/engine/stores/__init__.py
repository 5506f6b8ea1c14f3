"""Arrays beyond memory: a chain carried out on a store, region by region, here or on a cluster."""
