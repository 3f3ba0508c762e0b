"""`python -m fewlabels` is the command `fewlabels`."""

from __future__ import annotations

from fewlabels.cli.main import main

if __name__ == "__main__":
    main()
