from packaging.specifiers import SpecifierSet
from packaging.version import Version

VERSIONS = [Version(f"{a}.{b}.{c}") for a in range(8) for b in range(10) for c in range(10)]

for _ in range(30):
    for text in ("==1.2.*", "!=3.*", "~=4.5"):
        list(SpecifierSet(text).filter(VERSIONS))
    sorted(VERSIONS)
