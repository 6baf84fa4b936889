"""What a model's answers are worth: runs over labelled decisions, their measures, and calibrations fitted on them."""
