"""Array in, array out: numpy and scipy.special only, vectorised over benchmarks."""
