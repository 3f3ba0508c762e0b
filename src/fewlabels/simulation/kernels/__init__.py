"""The compiled half of the simulator: orders of asking, without objects."""
