"""llama.cpp, through the low-level API of llama-cpp-python. Nothing outside this package touches either.

``library`` comes first: importing any other module here loads the shared libraries that ``library.load`` has chosen.
"""
