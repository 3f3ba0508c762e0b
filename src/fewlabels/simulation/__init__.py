"""The simulator: how fast each method's error falls, by replaying it on fully labelled pools."""
