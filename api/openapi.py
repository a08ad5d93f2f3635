"""/openapi.json, drawn from the list of routes and the schemas that validate them."""

from collections.abc import Sequence
from typing import Any

from pydantic.json_schema import models_json_schema

from .info import program_version
from .routing import Call

SUCCESS: dict[str, Any] = {
    "type": "object",
    "required": ["success", "data"],
    "properties": {"success": {"const": True}, "data": {}},
}
PAGING = [
    {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 1}},
    {
        "name": "page_size",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 20},
    },
]
FAILURE: dict[str, Any] = {
    "type": "object",
    "required": ["success", "error"],
    "properties": {
        "success": {"const": False},
        "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "details": {"type": "object"},
            },
        },
    },
}


def document(calls: Sequence[Call]) -> dict[str, Any]:
    """The OpenAPI 3.1 description of `calls`."""
    bodies = list(dict.fromkeys(call.body for call in calls if call.body))
    _, schemas = models_json_schema(
        [(body, "validation") for body in bodies], ref_template="#/components/schemas/{model}"
    )
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {"title": "headrace", "version": program_version()},
        "paths": paths,
        "components": {"schemas": {**schemas.get("$defs", {}), "Failure": FAILURE}},
    }


def _operation(call: Call) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": call.summary,
        "operationId": call.endpoint.__name__,
        "parameters": _parameters(call),
        "responses": {
            str(call.status): {"description": call.summary, "content": _answer(call)},
            "default": {
                "description": "what went wrong",
                "content": _json({"$ref": "#/components/schemas/Failure"}),
            },
        },
    }
    content: dict[str, Any] = {}
    if call.body:
        content |= _json({"$ref": f"#/components/schemas/{call.body.__name__}"})
    if call.files:
        files = {"type": "array", "items": {"type": "string", "format": "binary"}}
        content["multipart/form-data"] = {"schema": {"type": "object", "properties": {"file": files}}}
    if content:
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(call: Call) -> list[dict[str, Any]]:
    in_path = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
        for part in call.path.split("/")
        if part.startswith("{")
    ]
    in_query = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in call.query]
    return [*in_path, *in_query, *(PAGING if call.paged else [])]


def _answer(call: Call) -> dict[str, Any]:
    if call.serves:
        return {media_type: {"schema": {"type": "string", "format": "binary"}} for media_type in call.serves}
    stream: dict[str, Any] = {"text/event-stream": {"schema": {"type": "string"}}} if call.streams else {}
    return stream if call.streams == "only" else {**stream, **_json(SUCCESS)}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
