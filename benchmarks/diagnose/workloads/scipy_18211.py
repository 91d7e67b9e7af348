import scipy.sparse

source = scipy.sparse.random(1500, 1500, density=0.004, random_state=1, format="csr")
for _ in range(15):
    target = scipy.sparse.lil_matrix((1500, 1500))
    target[:, :] = source
