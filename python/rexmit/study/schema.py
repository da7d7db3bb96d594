"""The JSON Schema of a study's file: the scenario's own, and what a study adds to it."""

from __future__ import annotations

from typing import Any

_TEXTS = {
    "title": "What the study is called.",
    "source": "Where it comes from: a publication and its section.",
    "question": "What it asks.",
    "description": "More about it, for whoever reads it.",
}


def study_schema(scenario: dict[str, Any]) -> dict[str, Any]:
    """The schema of a whole file: `scenario` as its own schema says, `vary`, `design` and the texts."""
    own = {key: value for key, value in scenario.items() if key not in ("$schema", "$defs")}
    whole = {"type": "integer", "minimum": 1}
    return {
        "$schema": scenario["$schema"],
        "title": "Study",
        "description": "A scenario, and what varies in it.",
        "type": "object",
        "properties": {
            **{key: {"type": "string", "description": text} for key, text in _TEXTS.items()},
            "scenario": own,
            "vary": {
                "description": "Factors: dotted names of settings, or names of your own with `together`.",
                "type": "object",
                "additionalProperties": {"anyOf": _levels()},
            },
            "design": {
                "type": "object",
                "properties": {
                    "replications": {**whole, "description": "How often each combination is run."},
                    "seed": {"type": "integer", "minimum": 0, "description": "Of all random streams."},
                },
                "additionalProperties": False,
            },
        },
        "required": ["scenario"],
        "additionalProperties": False,
        "$defs": scenario["$defs"],
    }


def _levels() -> list[dict[str, Any]]:
    labels = {"type": "array", "minItems": 1}
    lists = {"type": "object", "minProperties": 1}
    numbers = {"type": ["string", "integer"], "examples": ["0..20", "1,4,10..12"]}
    step = {"type": "integer", "minimum": 1}
    tables: list[tuple[str, dict[str, Any]]] = [
        ("position", {"position": numbers}),
        ("range", {"range": numbers, "step": step, "unit": {"type": "string"}}),
        ("levels", {"levels": {}, "labels": labels}),
        ("together", {"together": lists, "labels": labels}),
    ]
    found: list[dict[str, Any]] = [{"type": "array", "minItems": 1}]
    for key, properties in tables:
        found.append(
            {"type": "object", "properties": properties, "required": [key], "additionalProperties": False}
        )
    return found
