import networkx

graph = networkx.path_graph(8000)
for _ in range(3):
    networkx.bidirectional_dijkstra(graph, 0, 7999)
