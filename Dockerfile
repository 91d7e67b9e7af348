FROM docker.io/library/python:3.13.7-slim-trixie

# The matrices are small: threads cost more than they bring.
ENV OPENBLAS_NUM_THREADS=1

# Debian's mirrors drop old versions, so a pinned one would break the build; the tag above pins the release.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git \
  && rm -rf /var/lib/apt/lists/*

# The slim image ships the standard library without bytecode; without this every start would compile it anew.
RUN python -m compileall -q -x '/(ensurepip|idlelib|site-packages|test|tkinter|turtledemo)/' \
  "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"

# Dependencies change less often than bot/, so they have a layer of their own. What the base image brought stays unused.
COPY pyproject.toml .ci/constraints.txt /opt/perf-culprit/
RUN python -c 'import tomllib; print(*tomllib.load(open("/opt/perf-culprit/pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' \
  > /opt/perf-culprit/requirements.txt \
  && pip install --no-cache-dir --root-user-action=ignore --ignore-installed \
  --requirement /opt/perf-culprit/requirements.txt --constraint /opt/perf-culprit/constraints.txt \
  && site="$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
  && find "$site" -type d -name tests -prune -exec rm -r {} + \
  && echo /opt/perf-culprit > "$site/perf-culprit.pth"

COPY bot/ /opt/perf-culprit/bot/
RUN python -m compileall -q /opt/perf-culprit/bot

# No USER: GitHub demands root, and bot.action becomes the workspace's owner. No WORKDIR: the runner sets it.
# -I: that working directory is a stranger's checkout; neither it nor PYTHONPATH may stand in for our modules.
ENTRYPOINT ["/usr/local/bin/python", "-I", "-B", "-u", "-m", "bot.action"]
