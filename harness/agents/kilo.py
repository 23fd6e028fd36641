#!/usr/bin/env python3
"""Kilo, which has the HTTP interface of opencode."""

from front_door import Package, serve
from opencode import Opencode


class Kilo(Opencode):
    # The package of the platform: the one that chooses among platforms needs versions that are not published.
    package = Package("kilo", "7.7.9", ("@kilocode/cli-linux-x64@7.7.9",))
    name = "kilo"

    def program(self, name):
        return str(self.folder / "node_modules/@kilocode/cli-linux-x64/bin/kilo")


if __name__ == "__main__":
    serve(Kilo)
