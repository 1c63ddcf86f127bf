"""Pydantic AI's agent, which runs tools by itself."""

import asyncio
from importlib.metadata import version

from cases import API_KEY, BASE_URL, CUT_PROMPT, DOWN_MODEL, EMPTY_MODEL, MODEL, WRONG_KEY, fails_with, run
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class Place(BaseModel):
    city: str


def agent(name=MODEL, key=API_KEY, **more):
    client = AsyncOpenAI(base_url=BASE_URL, api_key=key, max_retries=0)
    return Agent(OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client)), retries=0, **more)


def ask(prompt="Hello!", name=MODEL, key=API_KEY, **more):
    return asyncio.run(agent(name, key, **more).run(prompt)).output


async def stream(prompt, pieces):
    async with agent().run_stream(prompt) as result:
        async for piece in result.stream_text(delta=True, debounce_by=None):
            pieces.append(piece)


def plain():
    assert ask()


def streamed():
    pieces = []
    asyncio.run(stream("Hello!", pieces))
    assert len(pieces) > 1


def tools():
    asked = []

    def get_weather(city: str) -> str:
        """The weather in a city."""
        asked.append(city)
        return "Sunny, 3 degrees."

    assert ask("Weather in Oslo?", tools=[get_weather]) and len(asked) == 1


def as_json():
    assert ask("Name a city.", output_type=NativeOutput(Place)).city


def cut():
    pieces = []
    try:
        asyncio.run(stream(CUT_PROMPT, pieces))
    except Exception as error:
        assert pieces, f"failed before the first text: {error}"
        return type(error).__name__
    raise AssertionError(f"the stream ended without an error after {''.join(pieces)!r}")


def main():
    run(
        "pydantic-ai",
        version("pydantic-ai-slim"),
        [
            plain,
            streamed,
            tools,
            as_json,
            lambda: fails_with(lambda: ask(key=WRONG_KEY), 401),
            lambda: fails_with(lambda: ask(name=EMPTY_MODEL), 402),
            lambda: fails_with(lambda: ask(name=DOWN_MODEL), 502),
            cut,
        ],
    )
