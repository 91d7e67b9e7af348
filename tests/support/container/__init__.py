"""Build the real Dockerfile and run the action as GitHub's runner does, with podman and without a registry."""
