import networkx as nx

graph = nx.gnm_random_graph(140, 700, seed=3)
for _ in range(1):
    nx.node_connectivity(graph)
    nx.average_clustering(graph)
