"""The constructs that the stacks are composed of."""
