"""What can be said of an assessment: the numbers, what they rest on, and the sentence."""
