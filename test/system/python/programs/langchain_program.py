"""LangChain's chat model for OpenAI."""

from importlib.metadata import version

from cases import API_KEY, BASE_URL, CUT_PROMPT, DOWN_MODEL, EMPTY_MODEL, MODEL, WRONG_KEY, fails_in_stream, fails_with, run
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Place(BaseModel):
    city: str


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}."


def model(name=MODEL, key=API_KEY):
    return ChatOpenAI(model=name, base_url=BASE_URL, api_key=key, max_retries=0, stream_usage=True)


def plain():
    answer = model().invoke("Hello!")
    assert answer.content and answer.usage_metadata["total_tokens"] > 0


def streamed():
    whole = None
    for chunk in model().stream("Hello!"):
        whole = chunk if whole is None else whole + chunk
    assert whole.content and whole.usage_metadata["total_tokens"] > 0


def tools():
    bound = model().bind_tools([get_weather])
    messages = [HumanMessage("Weather in Oslo?")]
    first = bound.invoke(messages)
    call = first.tool_calls[0]
    messages += [first, ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])]
    assert bound.invoke(messages).content


def as_json():
    assert model().with_structured_output(Place, method="json_schema").invoke("Name a city.").city


def main():
    run(
        "langchain-openai",
        version("langchain-openai"),
        [
            plain,
            streamed,
            tools,
            as_json,
            lambda: fails_with(lambda: model(key=WRONG_KEY).invoke("Hello!"), 401),
            lambda: fails_with(lambda: model(EMPTY_MODEL).invoke("Hello!"), 402),
            lambda: fails_with(lambda: model(DOWN_MODEL).invoke("Hello!"), 502),
            lambda: fails_in_stream(lambda: (chunk.content for chunk in model().stream(CUT_PROMPT))),
        ],
    )
