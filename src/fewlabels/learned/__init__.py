"""The learned prior: one model of items (right or wrong), and of the classes of mistakes."""
