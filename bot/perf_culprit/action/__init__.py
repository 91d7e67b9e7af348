"""The GitHub Action: runner facts in, one mode, outputs and job summary out."""
