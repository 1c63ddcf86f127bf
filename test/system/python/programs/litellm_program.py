"""LiteLLM as a library, with the gateway as an OpenAI-compatible server."""

import json
import os
from importlib.metadata import version

# Without it the package fetches its price list over the network when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from cases import API_KEY, BASE_URL, CUT_PROMPT, DOWN_MODEL, EMPTY_MODEL, MODEL, WEATHER, WRONG_KEY, fails_in_stream, fails_with, run

litellm.suppress_debug_info = True
litellm.telemetry = False


def ask(text="Hello!", model=MODEL, key=API_KEY, messages=None, **more):
    return litellm.completion(
        model=f"openai/{model}",
        api_base=BASE_URL,
        api_key=key,
        messages=messages or [{"role": "user", "content": text}],
        num_retries=0,
        max_retries=0,
        **more,
    )


def plain():
    answer = ask()
    assert answer.choices[0].message.content and answer.usage.total_tokens > 0


def streamed():
    assert "".join(chunk.choices[0].delta.content or "" for chunk in ask(stream=True) if chunk.choices)


def tools():
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    first = ask(messages=messages, tools=[WEATHER]).choices[0]
    call = first.message.tool_calls[0]
    assert json.loads(call.function.arguments)["city"]
    messages += [first.message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "Sunny, 3 degrees."}]
    assert ask(messages=messages, tools=[WEATHER]).choices[0].message.content


def as_json():
    assert json.loads(ask(response_format={"type": "json_object"}).choices[0].message.content)


def main():
    run(
        "litellm",
        version("litellm"),
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
