"""The GitHub Action: runner facts in, one command of the pipeline, outputs and job summary out."""
