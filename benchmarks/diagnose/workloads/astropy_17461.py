from astropy.utils.data import conf

for _ in range(160_000):
    conf.remote_timeout, conf.dataurl
