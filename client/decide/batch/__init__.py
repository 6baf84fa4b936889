"""Many requests out of a file, and their answers into another: against a live endpoint, or by a transform job."""
