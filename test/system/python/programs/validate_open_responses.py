"""Validates answers and events of the Responses API with the models of the Open Responses specification.

Reads one JSON document a line from standard input, and prints a line for each violation.
"""

import enum
import inspect
import json
import sys
import typing

from openresponses_types import types
from pydantic import ValidationError


def read_event_models():
    models = {}
    for name, model in inspect.getmembers(types, inspect.isclass):
        if not name.endswith("StreamingEvent"):
            continue
        annotation = model.model_fields["type"].annotation
        for kind in typing.get_args(annotation) or [annotation]:
            if inspect.isclass(kind) and issubclass(kind, enum.Enum):
                models.update({value.value: model for value in kind})
    return models


def find_violation(document, models):
    kind = document.get("type")
    model = types.ResponseResource if kind is None else models.get(kind)
    if model is None:
        return "no such event"
    try:
        model.model_validate(document)
    except ValidationError as error:
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
    return None


event_models = read_event_models()
if len(event_models) < 20:
    sys.exit(f"only {len(event_models)} events have a model")
checked = 0
for line in sys.stdin:
    document = json.loads(line)
    checked += 1
    violation = find_violation(document, event_models)
    if violation is not None:
        print(f"{document.get('type', 'response')}: {violation}")
print(f"checked {checked}", file=sys.stderr)
