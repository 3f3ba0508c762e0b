"""The drawing of pictures: marks and their layout, as SVG and with matplotlib."""
