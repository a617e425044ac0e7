"""Prints how many tests of a ctest run were skipped, by name and reason: skipped.py RESULTS.xml (ctest --output-junit).

A reason is what the test printed where it was skipped: GTEST_SKIP() << "reason", or a line "skipped: reason".
"""
import collections
import re
import sys
import xml.etree.ElementTree as ElementTree

NO_REASON = "no reason given"


def reason_of(output):
    """The line after GoogleTest's 'Skipped', or what follows 'skipped:'."""
    found = re.search(r"^skipped: (.+)$|: Skipped\n(.+)$", output, re.MULTILINE)
    return (found.group(1) or found.group(2)).strip() if found else NO_REASON


def main(path):
    cases = ElementTree.parse(path).getroot().findall("testcase")
    skipped = collections.defaultdict(list)
    for case in cases:
        if case.get("status") in ("notrun", "disabled"):
            skipped[reason_of(case.findtext("system-out") or "")].append(case.get("name"))
    total = sum(len(names) for names in skipped.values())
    print(f"\nSkipped: {total} of {len(cases)} tests")
    for reason, names in sorted(skipped.items()):
        print(f"  {len(names)}: {reason}")
        for name in sorted(names):
            print(f"    {name}")


if __name__ == "__main__":
    main(sys.argv[1])
