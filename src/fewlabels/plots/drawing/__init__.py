"""How pictures are drawn: marks and their layout, as SVG and with matplotlib."""
