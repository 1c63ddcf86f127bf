"""Runs the cases of one Python program and prints a line of JSON for each."""

import json
import os
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

# The openai package uses httpx2 as soon as any thread has begun to import it; LiteLLM does so in its first call.
with suppress(ImportError):
    import httpx2  # noqa: F401

BASE_URL = os.environ["BASE_URL"]
API_KEY = os.environ["API_KEY"]

# The gateway's configuration gives these products an empty pool and an upstream where nothing listens.
MODEL = "svc-2.1-fast"
EMPTY_MODEL = "svc-2.1"
DOWN_MODEL = "down"

CUT_PROMPT = 'demo:{"cut":{"afterEvents":4}}'
WRONG_KEY = "svc_live_wrong"

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

NAMES = [
    "plain",
    "streamed",
    "tools in two steps",
    "JSON",
    "wrong key",
    "empty quota",
    "upstream down",
    "cut in mid-stream",
]


def fails_with(call, *statuses):
    """Requires an exception that carries one of the statuses, itself or among its causes."""
    try:
        result = call()
    except Exception as error:
        found = status_of(error)
        assert found in statuses, f"status {found} instead of {statuses}: {type(error).__name__}: {error}"
        return f"{type(error).__name__} {found}"
    raise AssertionError(f"no failure, but {result!r}")


def fails_in_stream(pieces):
    """Requires some text and then an exception: a cut answer must not look like a whole one."""
    text = ""
    try:
        for piece in pieces():
            text += piece or ""
    except Exception as error:
        assert text != "", f"failed before the first text: {type(error).__name__}: {error}"
        return type(error).__name__
    raise AssertionError(f"the stream ended without an error after {text!r}")


def status_of(error):
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        status = getattr(error, "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__ or error.__context__
    return None


def run(program, version, cases):
    """`cases` are functions in the order of NAMES; they return a note or raise."""
    assert len(cases) == len(NAMES)

    def run_case(pair):
        name, case = pair
        started = time.monotonic()
        try:
            note, ok = case(), True
        except Exception as error:
            note, ok = f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}", False
        ms = round((time.monotonic() - started) * 1000)
        return {"program": program, "version": version, "case": name, "ok": ok, "note": note or "", "ms": ms}

    with ThreadPoolExecutor(4) as pool:
        for line in pool.map(run_case, zip(NAMES, cases)):
            print(json.dumps(line), flush=True)


def main(modules):
    """Programs of one environment, one after the other in this process."""
    for module in modules:
        try:
            __import__(module).main()
        except Exception as error:
            note = f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}"
            print(json.dumps({"program": module, "version": "", "case": "start", "ok": False, "note": note, "ms": 0}), flush=True)


if __name__ == "__main__":
    # The programs import this file under its own name.
    sys.modules["cases"] = sys.modules["__main__"]
    main(sys.argv[1:])
