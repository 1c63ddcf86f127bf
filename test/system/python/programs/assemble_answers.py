"""Prints what the openai or anthropic package assembles from each answer, as a line of JSON.

Arguments: the package, and a JSON list of requests: {"prompt", "model", "streamed"}. BASE_URL is the origin of the gateway.
"""

import json
import os
import sys

BASE_URL = os.environ["BASE_URL"]
API_KEY = os.environ["API_KEY"]
PARAMETERS = {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}
FINISH = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def parse_input(text):
    """Arguments that were cut off are their text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def create_openai():
    import openai

    completions = openai.OpenAI(base_url=f"{BASE_URL}/v1", api_key=API_KEY, max_retries=0).chat.completions
    tools = [{"type": "function", "function": {"name": "read", "parameters": PARAMETERS}}]

    def ask(prompt, model, streamed):
        request = {"model": model, "messages": [{"role": "user", "content": prompt}], "tools": tools}
        if streamed:
            try:
                with completions.stream(**request) as stream:
                    completion = stream.get_final_completion()
            except openai.LengthFinishReasonError as cut_off:
                completion = cut_off.completion
        else:
            completion = completions.create(**request)
        choice = completion.choices[0]
        message = choice.message
        calls = message.tool_calls or []
        assert message.role == "assistant", message.role
        assert all(call.type == "function" for call in calls)
        return {
            "text": message.content or "",
            "reasoning": getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None) or "",
            "calls": [
                {"id": call.id, "name": call.function.name, "input": parse_input(call.function.arguments)} for call in calls
            ],
            "finish": choice.finish_reason,
        }

    return ask


def create_anthropic():
    import anthropic

    messages = anthropic.Anthropic(base_url=BASE_URL, api_key=API_KEY, max_retries=0).messages
    tools = [{"name": "read", "input_schema": PARAMETERS}]

    def ask(prompt, model, streamed):
        request = {"model": model, "max_tokens": 1000, "messages": [{"role": "user", "content": prompt}], "tools": tools}
        if streamed:
            with messages.stream(**request) as stream:
                answer = stream.get_final_message()
        else:
            answer = messages.create(**request)
        blocks = {kind: [block for block in answer.content if block.type == kind] for kind in ("text", "thinking", "tool_use")}
        return {
            "text": "".join(block.text for block in blocks["text"]),
            "reasoning": "".join(block.thinking for block in blocks["thinking"]),
            "calls": [{"id": block.id, "name": block.name, "input": block.input} for block in blocks["tool_use"]],
            "finish": FINISH.get(answer.stop_reason, answer.stop_reason),
        }

    return ask


ask = {"openai": create_openai, "anthropic": create_anthropic}[sys.argv[1]]()
for request in json.loads(sys.argv[2]):
    try:
        assembled, error = ask(**request), None
    except Exception as failure:
        assembled, error = None, f"{type(failure).__name__}: {failure}"
    print(json.dumps({"assembled": assembled, "error": error}), flush=True)
