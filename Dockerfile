FROM docker.io/library/python:3.13.7-slim-trixie@sha256:5f55cdf0c5d9dc1a415637a5ccc4a9e18663ad203673173b8cda8f8dcacef689

# The matrices are small: threads cost more than they bring. Pydantic would look through all packages for plugins.
ENV OPENBLAS_NUM_THREADS=1 PYDANTIC_DISABLE_PLUGINS=1

# Debian's mirrors drop old versions, so a pinned one would break the build. A release names a day instead, such as
# 20260131T000000Z: Debian's archive as it was then, whose signed index holds the hash of every package.
ARG APT_SNAPSHOT=""
# hadolint ignore=DL3008
RUN if [ -n "$APT_SNAPSHOT" ]; then \
    rm -f /etc/apt/sources.list.d/* \
    && for archive in "debian trixie" "debian trixie-updates" "debian-security trixie-security"; do \
      echo "deb [check-valid-until=no] http://snapshot.debian.org/archive/${archive%% *}/$APT_SNAPSHOT ${archive#* } main"; \
    done > /etc/apt/sources.list; \
  fi \
  && apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git \
  && rm -rf /var/lib/apt/lists/*

# The slim image ships the standard library without bytecode; without this every start would compile it anew.
RUN python -m compileall -q -x '/(ensurepip|idlelib|site-packages|test|tkinter|turtledemo)/' \
  "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"

# Dependencies change less often than bot/, so they have a layer of their own. What the base image brought stays unused.
COPY .ci/requirements/runtime.txt /opt/perf-culprit/
RUN pip install --no-cache-dir --root-user-action=ignore --ignore-installed --only-binary :all: --require-hashes \
  --requirement /opt/perf-culprit/runtime.txt \
  && site="$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
  && find "$site" -type d -name tests -prune -exec rm -r {} + \
  && echo /opt/perf-culprit/bot > "$site/perf-culprit.pth"

COPY LICENSE /opt/perf-culprit/
COPY bot/ /opt/perf-culprit/bot/
RUN python -m compileall -q /opt/perf-culprit/bot

# No USER: GitHub demands root, and perf_culprit.action becomes the workspace's owner. No WORKDIR: the runner sets it.
# -I: that working directory is a stranger's checkout; neither it nor PYTHONPATH may stand in for our modules.
ENTRYPOINT ["/usr/local/bin/python", "-I", "-B", "-u", "-m", "perf_culprit.action"]
