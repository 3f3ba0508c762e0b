"""The learned prior: a model of single items (right or wrong), and one of rows of classes."""
