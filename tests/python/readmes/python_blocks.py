"""Runs Python blocks of one section, in one namespace. A line in is a block as JSON, a line out what came of it.

It runs in the environment that the document has installed, so it imports nothing of the tests.
"""

import contextlib
import io
import json
import os
import sys
import traceback

names = {"__name__": "__main__"}
for line in sys.stdin:
    block = json.loads(line)
    os.environ.clear()
    os.environ.update(block["environment"])
    os.chdir(block["folder"])
    printed, failure = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(block["text"], block["place"], "exec"), names)
        except BaseException:
            failure = traceback.format_exc()
    print(json.dumps({"printed": printed.getvalue(), "failure": failure}), flush=True)
