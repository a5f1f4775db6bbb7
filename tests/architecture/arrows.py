#!/usr/bin/env python3
"""Checks the #include lines against the arrows between the rooms (docs/architecture.md), and that public headers reach
no one else's. usage: arrows.py SOURCE_ROOT"""
import re
import sys
from pathlib import Path

# A room, and the rooms it may use besides itself and the public value headers.
ARROWS = {
    "base": set(),
    "wire": {"base"},
    "flow": {"wire"},
    "order": {"wire"},
    "mem": {"base"},
    "sim": {"wire"},
    "shm": {"wire"},
    "ofi": {"wire"},
    "verbs": {"wire"},
    "reliable": {"flow", "wire"},
    "peer": {"flow", "wire"},
    "msg": {"peer", "flow", "order", "mem", "wire", "base"},
    "coll": {"msg", "mem"},
    "lab": {"msg", "mem", "flow", "sim", "wire"},
    "boot": {"base"},
    "api": {"coll", "lab", "msg", "order", "mem", "boot", "reliable", "wire"},
    "gpudirect": {"mem"},
}
# Public headers with behaviour: only the room that implements them, and what stands on it, may include them.
API_ONLY = {"runtime.hpp", "verbena.hpp"}
VENDOR = re.compile(r"infiniband/|rdma/|cuda|fmt/|nlohmann/|CLI/|sodium")

problems = []
root = Path(sys.argv[1])


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line):
            yield number, found[1] == "<", found[2]


def sources(folder):
    return [p for p in sorted((root / folder).rglob("*")) if p.suffix in (".hpp", ".cpp", ".cu", ".cuh", ".in")]


for room, allowed in ARROWS.items():
    folder = room if room in ("verbs", "gpudirect") else f"lib/{room}"
    for path in sources(folder):
        for number, angled, target in includes(path):
            first = target.split("/")[0]
            if not angled and first in ARROWS and first != room and first not in allowed:
                if path.name == "backends.cpp.in":
                    continue  # the one place that names the backends
                problems.append(f"{path}:{number}: {room} may not use {first} ({target})")
            if angled and target.startswith("verbena/") and target[8:] in API_ONLY and room != "api":
                problems.append(f"{path}:{number}: {room} may not use the public {target}")
for path in sources("include/verbena"):
    for number, angled, target in includes(path):
        if not angled or VENDOR.search(target):
            problems.append(f"{path}:{number}: a public header includes {target}")
for folder in ("tools", "examples"):
    for path in sources(folder):
        for number, angled, target in includes(path):
            if not angled and target.split("/")[0] in ARROWS:
                problems.append(f"{path}:{number}: {folder} may use include/verbena alone, not {target}")

print("\n".join(problems) if problems else "every #include follows the arrows")
sys.exit(1 if problems else 0)
