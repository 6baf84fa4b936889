"""One module a command. Each only composes: what it says and does is in the modules beside this package."""
