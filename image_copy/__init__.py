"""Copies a published image into the environment's repository: `python -m image_copy`, run by buildspec.yml."""
