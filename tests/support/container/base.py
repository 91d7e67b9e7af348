"""A local stand-in for the official Python image that the Dockerfile names, made of Debian packages.

If a registry can be reached, `podman pull` the tag first: an existing image is used unchanged. The stand-in differs
from plain Debian in one intended way: like the official slim images, it has no bytecode of the standard library.
"""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryFile

from tests.support.container.podman import ContainersUnavailableError, image_exists, podman

CERTIFICATES = Path("/usr/local/share/ca-certificates")
RECIPE_LABEL = "perf-culprit.recipe"
TIMEOUT_S = 900

# Debian's own container image keeps no package caches; %s is the directory of the new system.
_APT_CONFIGURATION = """\
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
"""
_HOOKS = (
    f"""printf '%s' '{_APT_CONFIGURATION}' > "$1/etc/apt/apt.conf.d/docker-clean" """,
    f"""for c in {CERTIFICATES}/*.crt; do [ ! -e "$c" ] || cp "$c" "$1{CERTIFICATES}/"; done""",
    """chroot "$1" update-ca-certificates >/dev/null 2>&1""",
    """rm -f "$1"/usr/lib/python3*/EXTERNALLY-MANAGED "$1/etc/resolv.conf" "$1/etc/hostname" """,
    """ln -s /usr/bin/python3 "$1/usr/local/bin/python" && ln -s /usr/bin/pip3 "$1/usr/local/bin/pip" """,
    """find "$1/usr/lib" -name __pycache__ -path '*/python3*' -prune -exec rm -rf {} + """,
    """rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*""",
)
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    # pip brings its own certificates; the machine's are in the system's file.
    "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
}


def base_image(dockerfile: str) -> str:
    """Return the only image that a Dockerfile is based on, with its digest."""
    (image,) = re.findall(r"^FROM +(\S+)", dockerfile, flags=re.MULTILINE)
    return str(image)


def ensure_base(tag: str) -> None:
    """Make sure that `tag` exists: keep a pulled image, rebuild an outdated stand-in."""
    recipe = _recipe(tag)
    if image_exists(tag):
        label = podman("image", "inspect", "--format", f'{{{{index .Labels "{RECIPE_LABEL}"}}}}', tag).stdout.strip()
        if label in {"", "<no value>", recipe}:
            return
    if shutil.which("mmdebstrap") is None:
        raise ContainersUnavailableError(f"no base image: podman pull {tag}, or apt-get install mmdebstrap")
    _bootstrap(tag, recipe=recipe)


def _bootstrap(tag: str, *, recipe: str) -> None:
    hooks = [f"--customize-hook={hook}" for hook in _HOOKS]
    mirror = _debian_mirror()
    command = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-pip,ca-certificates", *hooks]
    changes = [f"--change=ENV {name}={value}" for name, value in _ENVIRONMENT.items()]
    changes += [f"--change=LABEL {RECIPE_LABEL}={recipe}", '--change=CMD ["python3"]']
    with TemporaryFile() as complaints:
        with subprocess.Popen(
            [*command, _suite(tag), "-", *([mirror] if mirror else [])], stdout=subprocess.PIPE, stderr=complaints
        ) as bootstrap:
            try:
                imported = podman("import", "--quiet", *changes, "-", tag, stdin=bootstrap.stdout, timeout_s=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                bootstrap.terminate()
                raise
        complaints.seek(0)
        errors = complaints.read().decode(errors="replace") + imported.stderr
    if bootstrap.returncode != 0 or imported.returncode != 0:
        podman("image", "rm", "--force", tag)
        raise ContainersUnavailableError(f"mmdebstrap could not make {tag}: {errors.strip()[-800:]}")


def _recipe(tag: str) -> str:
    digest = hashlib.sha256(repr((tag, _HOOKS, _ENVIRONMENT)).encode())
    for certificate in sorted(CERTIFICATES.glob("*.crt")):
        digest.update(certificate.read_bytes())
    return digest.hexdigest()[:16]


def _suite(tag: str) -> str:
    """`python:3.13.7-slim-trixie` -> `trixie`."""
    return tag.rpartition("-")[2]


def _debian_mirror() -> str | None:
    """Return the mirror from which this machine's apt installs Debian; None leaves the choice to mmdebstrap."""
    if shutil.which("apt-get") is None:
        return None
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    mirrors = [line.removeprefix("Debian ") for line in listed.stdout.splitlines() if line.startswith("Debian ")]
    return next((mirror for mirror in mirrors if "security" not in mirror), None)
