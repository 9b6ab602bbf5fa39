#!/usr/bin/env python3
"""Writes tests/fixtures/templates/*.json: chat templates as transformers
renders them, and a table of small snippets of the template language.

Run from the repository's root, with transformers 5.24, jinja2 and gguf:

    python3 tools/golden/make_templates.py

The templates themselves are read from the cache folder that
tools/fetch-test-data fills, and are not copied into the fixtures. With

    python3 tools/golden/make_templates.py --all FOLDER OUT.json

it renders every *.jinja of FOLDER instead; the test program checks that file
when VOUCH_TEMPLATE_CASES names it.
"""

import argparse
import copy
import datetime
import json
import logging
import os
import pathlib
import sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import jinja2  # noqa: E402
from transformers.utils import chat_template_utils as hf  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from template_cases import CONVERSATIONS, SNIPPETS, SPECIAL_TOKENS  # noqa: E402

NOW = (2024, 7, 26, 12, 34, 56)
FIXTURES = pathlib.Path("tests/fixtures/templates")
TEMPLATES = [
    "Qwen3.5-4B",
    "Qwen-Qwen3-0.6B",
    "meta-llama-Llama-3.1-8B-Instruct",
    "HuggingFaceTB-SmolLM3-3B",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "deepseek-ai-DeepSeek-V3.1",
    "openai-gpt-oss-120b",
]
SMOLLM2 = "models/SmolLM2-135M-Instruct.Q4_1.gguf"


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(*NOW)


def cache():
    if "VOUCH_CACHE" in os.environ:
        return pathlib.Path(os.environ["VOUCH_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    return pathlib.Path(base) / "vouch"


def with_parsed_arguments(messages):
    """Tool calls' arguments as mappings where they are JSON text, as the
    server passes them on."""
    messages = json.loads(json.dumps(messages))
    for message in messages:
        for call in message.get("tool_calls") or []:
            arguments = call["function"]["arguments"]
            if isinstance(arguments, str):
                call["function"]["arguments"] = json.loads(arguments)
    return messages


def render(source, conversation):
    """{"output": text} or {"error": message}; as the server renders: tool
    calls' arguments first as mappings, and when that fails as they came."""
    as_they_came = conversation["messages"]
    parsed = with_parsed_arguments(as_they_came)
    result = attempt(source, conversation, parsed)
    if "error" in result and parsed != as_they_came:
        second = attempt(source, conversation, as_they_came)
        return result if "error" in second else second
    return result


def error_message(error):
    """"" where the wording is about Python's own functions."""
    message = str(error)
    own = ("_cached_compile", "expected at least", "format", "argument",
           "must be str", "tuple index")
    jinjas = (jinja2.TemplateError,)
    if not isinstance(error, jinjas) and any(o in message for o in own):
        return ""
    return message


def attempt(source, conversation, messages):
    messages = hf._normalize_chat_messages(messages)
    try:
        rendered, _ = hf.render_jinja_template(
            [messages],
            tools=conversation.get("tools"),
            chat_template=source,
            add_generation_prompt=conversation["add_generation_prompt"],
            **SPECIAL_TOKENS,
            **conversation.get("variables", {}),
        )
        return {"output": rendered[0]}
    except jinja2.TemplateSyntaxError:
        raise
    except Exception as e:  # whatever the template did
        return {"error": error_message(e)}


def smollm2_template():
    from gguf import GGUFReader
    field = GGUFReader(cache() / SMOLLM2).fields["tokenizer.chat_template"]
    return bytes(field.parts[field.data[0]]).decode()


def conversation_cases(templates):
    return {
        "now": NOW,
        "special_tokens": SPECIAL_TOKENS,
        "conversations": CONVERSATIONS,
        "templates": [
            {"path": path,
             "expected": [render(source, c) for c in CONVERSATIONS]}
            for path, source in templates
        ],
    }


def snippet_cases():
    cases = []
    for snippet in SNIPPETS:
        # A copy: some filters change their argument.
        source, variables = copy.deepcopy(
            snippet if isinstance(snippet, tuple) else (snippet, {}))
        case = {"source": source}
        if variables:
            case["variables"] = variables
        try:
            case["output"] = hf._compile_jinja_template(source).render(
                messages=[], tools=None, documents=None,
                add_generation_prompt=False, **variables)
        except jinja2.TemplateSyntaxError as e:
            case["syntax_error"] = e.lineno
        except SyntaxError:
            case["syntax_error"] = 0
        except Exception as e:
            case["error"] = error_message(e)
        cases.append(case)
    return cases


def write(path, data, rows=None):
    """JSON; one row of `rows` a line."""
    with open(path, "w", encoding="utf-8") as out:
        if rows is None:
            json.dump(data, out, ensure_ascii=False, indent=1)
        else:
            lines = [json.dumps(r, ensure_ascii=False) for r in rows]
            out.write("[\n" + ",\n".join(lines) + "\n]")
        out.write("\n")
    print(path, os.path.getsize(path), "bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", nargs=2, metavar=("FOLDER", "OUT"))
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    hf.datetime = FixedClock
    if arguments.all:
        folder, out = arguments.all
        templates = [(str(p.resolve()), p.read_text(encoding="utf-8"))
                     for p in sorted(pathlib.Path(folder).glob("*.jinja"))]
        write(out, conversation_cases(templates))
        return
    FIXTURES.mkdir(parents=True, exist_ok=True)
    templates = [(SMOLLM2, smollm2_template())]
    for name in TEMPLATES:
        path = f"test-data/templates/{name}.jinja"
        templates.append((path, (cache() / path).read_text(encoding="utf-8")))
    write(FIXTURES / "conversations.json", conversation_cases(templates))
    write(FIXTURES / "snippets.json", None, snippet_cases())


if __name__ == "__main__":
    main()
