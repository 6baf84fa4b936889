"""The contracts the container speaks; each is one module, and `app` gives each its routes."""
