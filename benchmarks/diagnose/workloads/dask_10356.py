import dask.bag

dask.bag.from_sequence(range(20_000), npartitions=4000).random_sample(0.5, random_state=3)
