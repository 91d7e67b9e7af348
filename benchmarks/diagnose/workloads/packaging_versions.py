from packaging.specifiers import SpecifierSet
from packaging.version import Version

NAMES = [f"{a}.{b}.{c}{s}" for a in range(6) for b in range(8) for c in range(10) for s in ("", "rc1", ".post1")]

for _ in range(30):
    versions = [Version(name) for name in NAMES]
    for _ in range(4):
        sorted(versions, reverse=True)
    list(SpecifierSet(">=1.2,<5").filter(versions))
