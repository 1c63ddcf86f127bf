"""LlamaIndex's model for OpenAI-compatible servers."""

import json
from importlib.metadata import version

from cases import API_KEY, BASE_URL, CUT_PROMPT, DOWN_MODEL, EMPTY_MODEL, MODEL, WRONG_KEY, fails_in_stream, fails_with, run
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}."


def model(name=MODEL, key=API_KEY):
    return OpenAILike(
        model=name, api_base=BASE_URL, api_key=key, is_chat_model=True, is_function_calling_model=True, max_retries=0
    )


def chat(text="Hello!", name=MODEL, key=API_KEY, **more):
    return model(name, key).chat([ChatMessage(role=MessageRole.USER, content=text)], **more)


def stream(text):
    return (piece.delta for piece in model().stream_chat([ChatMessage(role=MessageRole.USER, content=text)]))


def plain():
    assert chat().message.content


def streamed():
    assert "".join(piece or "" for piece in stream("Hello!"))


def tools():
    weather = FunctionTool.from_defaults(get_weather)
    history = [ChatMessage(role=MessageRole.USER, content="Weather in Oslo?")]
    first = model().chat_with_tools([weather], chat_history=history)
    call = model().get_tool_calls_from_response(first)[0]
    answer = ChatMessage(
        role=MessageRole.TOOL,
        content=str(weather.call(**call.tool_kwargs)),
        additional_kwargs={"tool_call_id": call.tool_id},
    )
    assert model().chat_with_tools([weather], chat_history=[*history, first.message, answer]).message.content


def as_json():
    assert json.loads(chat(response_format={"type": "json_object"}).message.content)


def main():
    run(
        "llama-index",
        version("llama-index-llms-openai-like"),
        [
            plain,
            streamed,
            tools,
            as_json,
            lambda: fails_with(lambda: chat(key=WRONG_KEY), 401),
            lambda: fails_with(lambda: chat(name=EMPTY_MODEL), 402),
            lambda: fails_with(lambda: chat(name=DOWN_MODEL), 502),
            lambda: fails_in_stream(lambda: stream(CUT_PROMPT)),
        ],
    )
