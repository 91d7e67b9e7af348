import networkx as nx

for _ in range(1):
    tree = nx.full_rary_tree(2, 160_000)
    nx.number_connected_components(tree)
    list(nx.bfs_edges(tree, 0, depth_limit=8))
