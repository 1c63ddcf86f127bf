"""Google's google-genai package, as applications use it directly."""

import json

from cases import API_KEY, BASE_URL, CUT_PROMPT, DOWN_MODEL, EMPTY_MODEL, MODEL, WRONG_KEY, fails_in_stream, fails_with, run
from google import genai
from google.genai import errors, types

WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather",
            description="The weather in a city.",
            parameters=types.Schema(type="OBJECT", properties={"city": types.Schema(type="STRING")}, required=["city"]),
        )
    ]
)


# The cases look for OpenAI's name of the status.
errors.APIError.status_code = property(lambda error: error.code)


def client(key=API_KEY):
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=BASE_URL.removesuffix("/v1")))


def ask(text="Hello!", model=MODEL, key=API_KEY, **config):
    # The client must live as long as its request.
    with client(key) as google:
        return google.models.generate_content(model=model, contents=text, config=config)


def stream(text):
    with client() as google:
        for piece in google.models.generate_content_stream(model=MODEL, contents=text):
            yield piece


def plain():
    answer = ask()
    assert answer.text and answer.candidates[0].finish_reason == "STOP"
    assert answer.usage_metadata.total_token_count > 0
    with client() as google:
        assert google.models.count_tokens(model=MODEL, contents="Hello!").total_tokens > 0
        assert f"models/{MODEL}" in [each.name for each in google.models.list()]


def streamed():
    pieces = list(stream("Hello!"))
    assert "".join(piece.text or "" for piece in pieces)
    assert pieces[-1].usage_metadata.candidates_token_count > 0


def tools():
    off = types.AutomaticFunctionCallingConfig(disable=True)
    with client() as google:
        chat = google.chats.create(model=MODEL, config={"tools": [WEATHER], "automatic_function_calling": off})
        call = chat.send_message("Weather in Oslo?").function_calls[0]
        assert call.args["city"]
        part = types.Part(
            function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": "Sunny, 3 degrees."})
        )
        assert chat.send_message([part]).text


def as_json():
    schema = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
    assert json.loads(ask(response_mime_type="application/json", response_schema=schema).text)["city"]


def main():
    run(
        "google-genai",
        genai.__version__,
        [
            plain,
            streamed,
            tools,
            as_json,
            lambda: fails_with(lambda: ask(key=WRONG_KEY), 401),
            lambda: fails_with(lambda: ask(model=EMPTY_MODEL), 402),
            lambda: fails_with(lambda: ask(model=DOWN_MODEL), 502),
            lambda: fails_in_stream(lambda: (piece.text for piece in stream(CUT_PROMPT))),
        ],
    )
