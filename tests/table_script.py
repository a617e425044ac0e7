"""Runs one of the scripts that make tables, for their tests."""
import json
import pathlib
import subprocess
import sys
import tempfile


def run(script, *contents):
    """The finished process of tests/SCRIPT on a file of JSON for each of the contents."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"{number}.json" for number in range(len(contents))]
        for path, content in zip(paths, contents):
            path.write_text(json.dumps(content), encoding="utf-8")
        command = [sys.executable, pathlib.Path(__file__).resolve().parent / script, *paths]
        return subprocess.run(command, capture_output=True, text=True, check=False)
