import networkx

graph = networkx.gnm_random_graph(90, 600, seed=2)
networkx.constraint(graph)
networkx.effective_size(graph)
