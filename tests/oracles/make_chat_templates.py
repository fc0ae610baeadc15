#!/usr/bin/env python3
# Makes tests/oracles/chat_templates.json: what Jinja renders of templates in the manner of each family.
"""
    build/tokenizer_oracles/bin/pip install jinja2==3.1.6
    build/tokenizer_oracles/bin/python tests/oracles/make_chat_templates.py

The environment is set up as Hugging Face transformers does: trim_blocks, lstrip_blocks, its tojson,
raise_exception. The templates in chat_templates/ were written after the prompt formats that the families
document and with the constructs that their published templates use.
"""

import json
import os

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = os.path.dirname(os.path.abspath(__file__))

FOLDER = os.path.join(HERE, "chat_templates")

PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "default": 3},
        "é": {"enum": ["a", 1, 2.5, None, True, [], {}]},
    },
    "required": ["city"],
}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": 'The weather <now> & "then"',
        "return": 1,
        "parameters": PARAMETERS,
    },
}
FUNCTION = {"name": "weather", "arguments": {"city": "Köln", "days": 2}}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"type": "function", "id": "abcdefghi", "function": FUNCTION}],
}


def say(*turns):
    """Messages of (role, content)."""
    return [{"role": role, "content": content} for role, content in turns]


CONVERSATIONS = [
    say(("user", "Hi")),
    say(("system", " Be brief. "), ("user", "  Hello, 世界!\n")),
    say(("user", "1+1?"), ("assistant", "<think>\nadd\n</think>\n\nTwo 😀"), ("user", "Sure?")),
    say(
        ("system", "S"),
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
        ("assistant", "<think>x</think>d"),
    ),
    say(("user", "a"), ("user", "b")),
    [*say(("user", "weather?")), CALL, *say(("tool", "sunny"), ("tool", "warm"))],
    say(("user", [{"type": "image"}, {"type": "text", "text": " look "}])),
    say(("assistant", "first")),
    [],
]


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


def render(template, variables):
    row = {"template": template, "variables": variables}
    try:
        row["expected"] = environment().from_string(template).render(**variables)
    except (jinja2.exceptions.TemplateError, TypeError, ZeroDivisionError, AttributeError):
        row["error"] = True
    return row


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8", newline="") as text:
        return text.read()


def main():
    rows = []
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".jinja"))
    families = {name[: -len(".jinja")]: read(name) for name in names}
    extras = (
        {},
        {"add_generation_prompt": True},
        {"add_generation_prompt": True, "tools": [TOOL], "enable_thinking": False},
    )
    for name, template in families.items():
        for messages in CONVERSATIONS:
            for extra in extras:
                row = render(
                    template, {"messages": messages, "bos_token": "<s>", "eos_token": "</s>", **extra}
                )
                row["family"] = name
                del row["template"]
                rows.append(row)
    data = {"a": {"b": [1, 2]}, "l": ["x"], "t": "té"}
    snippets = [render(snippet, {"d": data}) for snippet in json.loads(read("snippets.json"))]
    with open(os.path.join(HERE, "chat_templates.json"), "w", encoding="utf-8") as out:
        json.dump(
            {"templates": families, "conversations": rows, "snippets": snippets},
            out,
            ensure_ascii=False,
            indent=0,
        )
        out.write("\n")
    errors = sum("error" in row for row in rows), sum("error" in row for row in snippets)
    print(len(rows), len(snippets), "errors", errors)


if __name__ == "__main__":
    main()
