import networkx as nx
from networkx.algorithms.isomorphism import GraphMatcher

one = nx.gnm_random_graph(220, 480, seed=5)
other = nx.relabel_nodes(one, {i: (i * 37) % 220 for i in one})
for _ in range(6):
    GraphMatcher(one, other).is_isomorphic()
    nx.average_clustering(one)
