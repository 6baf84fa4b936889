"""Proves in the build of an image that its binding and its base's libraries are made for each other."""
