import networkx as nx

graph = nx.grid_2d_graph(8, 8)
for _ in range(3):
    for source in ((0, 0), (3, 0)):
        for target in list(graph):
            sum(1 for _ in nx.all_shortest_paths(graph, source, target))
    nx.average_clustering(graph)
