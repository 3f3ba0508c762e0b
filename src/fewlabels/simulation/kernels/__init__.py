"""The compiled half of the simulator: it computes orders of asking, without Python objects."""
