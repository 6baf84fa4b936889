"""What would stop a deployment, found before it is paid for: `python -m preflight <environment>`."""
