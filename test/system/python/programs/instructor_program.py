"""Instructor, which validates answers and asks again where they do not fit."""

from importlib.metadata import version

import instructor
import openai
from cases import API_KEY, BASE_URL, CUT_PROMPT, DOWN_MODEL, EMPTY_MODEL, MODEL, WEATHER, WRONG_KEY, fails_in_stream, fails_with, run
from pydantic import BaseModel


class Place(BaseModel):
    city: str


def ask(text="Name a city.", model=MODEL, key=API_KEY, mode=instructor.Mode.TOOLS, response_model=Place, messages=None, **more):
    client = instructor.from_openai(openai.OpenAI(base_url=BASE_URL, api_key=key, max_retries=0), mode=mode)
    messages = messages or [{"role": "user", "content": text}]
    return client.chat.completions.create(
        model=model, messages=messages, response_model=response_model, max_retries=0, **more
    )


def plain():
    assert ask("Hello!", response_model=None).choices[0].message.content


def streamed():
    client = instructor.from_openai(openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0))
    parts = list(
        client.chat.completions.create_partial(
            model=MODEL, messages=[{"role": "user", "content": "Name a city."}], response_model=Place, max_retries=0
        )
    )
    assert parts[-1].city


def tools():
    messages = [{"role": "user", "content": "Weather in Oslo?"}]
    first = ask(messages=messages, tools=[WEATHER], response_model=None).choices[0].message
    call = first.tool_calls[0]
    answer = {"role": "assistant", "content": "", "tool_calls": [call.model_dump()]}
    messages += [answer, {"role": "tool", "tool_call_id": call.id, "content": "Sunny, 3 degrees."}]
    assert ask(messages=messages, tools=[WEATHER], response_model=None).choices[0].message.content
    assert ask().city


def as_json():
    assert ask(mode=instructor.Mode.JSON_SCHEMA).city


def main():
    run(
        "instructor",
        version("instructor"),
        [
            plain,
            streamed,
            tools,
            as_json,
            lambda: fails_with(lambda: ask(key=WRONG_KEY), 401),
            lambda: fails_with(lambda: ask(model=EMPTY_MODEL), 402),
            lambda: fails_with(lambda: ask(model=DOWN_MODEL), 502),
            lambda: fails_in_stream(
                lambda: (c.choices[0].delta.content for c in ask(CUT_PROMPT, response_model=None, stream=True) if c.choices)
            ),
        ],
    )
