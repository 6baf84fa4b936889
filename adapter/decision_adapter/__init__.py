"""The decision container: scores a fixed set of options with a llama.cpp model."""
