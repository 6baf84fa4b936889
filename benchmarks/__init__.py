"""What a decision costs, measured against the reference algorithm and against llama.cpp itself. Never in the image."""
