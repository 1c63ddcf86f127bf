"""The openai package, as applications use it directly."""

import json

import openai
from cases import API_KEY, BASE_URL, CUT_PROMPT, DOWN_MODEL, EMPTY_MODEL, MODEL, WEATHER, WRONG_KEY, fails_in_stream, fails_with, run


def client(key=API_KEY):
    return openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=0)


def ask(text="Hello!", model=MODEL, key=API_KEY, **more):
    return client(key).chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **more)


def plain():
    answer = ask()
    assert answer.choices[0].message.content and answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens > 0


def streamed():
    chunks = list(ask(stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert chunks[-1].usage.total_tokens > 0


def tools():
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    first = client().chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER]).choices[0]
    assert first.finish_reason == "tool_calls"
    call = first.message.tool_calls[0]
    assert json.loads(call.function.arguments)["city"]
    messages += [first.message, {"role": "tool", "tool_call_id": call.id, "content": "Sunny, 3 degrees."}]
    second = client().chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER]).choices[0]
    assert second.finish_reason == "stop" and second.message.content


def as_json():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": schema}}
    assert json.loads(ask(response_format=form).choices[0].message.content)["city"]


def main():
    run(
        "openai",
        openai.__version__,
        [
            plain,
            streamed,
            tools,
            as_json,
            lambda: fails_with(lambda: ask(key=WRONG_KEY), 401),
            lambda: fails_with(lambda: ask(model=EMPTY_MODEL), 402),
            lambda: fails_with(lambda: ask(model=DOWN_MODEL), 502),
            lambda: fails_in_stream(lambda: (c.choices[0].delta.content for c in ask(CUT_PROMPT, stream=True) if c.choices)),
        ],
    )
