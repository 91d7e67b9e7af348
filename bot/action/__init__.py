"""The GitHub Action: runner facts in, one verb of the pipeline, outputs and job summary out."""
