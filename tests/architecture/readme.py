#!/usr/bin/env python3
"""The program that the README shows is the one that is built and run. usage: readme.py SOURCE_ROOT"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
shown = re.search(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.S)[1]
if shown != (root / "examples/hello_ring.cpp").read_text():
    sys.exit("README.md shows another program than examples/hello_ring.cpp")
print("the README's program is examples/hello_ring.cpp")
