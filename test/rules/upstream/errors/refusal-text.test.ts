/** Refusals that model servers send as failures of their own, and the sentence of them that a member receives. */
import t from 'tap'
import type { FailureFacts } from '../../../../src/exchange/upstream-failure.ts'
import { classifyFailure } from '../../../../src/upstream/errors/classify-failure.ts'
import { countsAgainstBreaker } from '../../../../src/upstream/errors/retry-policy.ts'
import { toRefusalText } from '../../../../src/upstream/errors/refusal-text.ts'

const advice =
  "This is usually an issue with the model's prompt template. If you are using a popular model, you can try to search the model under lmstudio-community, which will have fixed prompt templates."

const traceback =
  '\n\n  File "/models/venv/lib/python3.12/site-packages/llama_cpp/server/app.py", line 376, in create_chat_completion\n    POST /v1/chat/completions'

const refusals: readonly (readonly [server: string, message: string, sentence: string])[] = [
  [
    'llama.cpp, a picture without projector',
    'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
    'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
  ],
  ['llama.cpp, older', 'image input is not supported by this server', 'image input is not supported by this server'],
  ['llama.cpp, sound', 'audio input is not supported - hint: …', 'audio input is not supported - hint: …'],
  [
    'llama.cpp, a part of a message',
    'Failed to parse messages: Unsupported content part type: "image_url"; messages = [\n  {\n    "role": "user",\n    "content": []\n  }\n]',
    'Failed to parse messages: Unsupported content part type: "image_url"',
  ],
  [
    'llama.cpp, a null in a tool',
    'Failed to parse tools: [json.exception.type_error.302] type must be string, but is null; tools = [\n  {\n    "type": "function"\n  }\n]',
    'Failed to parse tools: [json.exception.type_error.302] type must be string, but is null',
  ],
  [
    'llama.cpp, a null',
    '[json.exception.type_error.302] type must be string, but is null',
    '[json.exception.type_error.302] type must be string, but is null',
  ],
  [
    'llama.cpp, the template raises',
    "\n------------\nWhile executing CallExpression at line 47, column 32 in source:\n...== 0) %}↵            {{- raise_exception('After the optional system message, con...\n                                           ^\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
    'After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
  ],
  [
    'llama.cpp, the template fails',
    "\n------------\nWhile executing FilterExpression at line 1, column 5 in source:\n{{ x|foo }}\n    ^\nError: Unknown (built-in) filter 'foo' for type String",
    "Unknown (built-in) filter 'foo' for type String",
  ],
  [
    'llama.cpp, older, the template fails',
    "Value is not callable: null at row 49, column 79:\n                {%- set content = (m_content.split('</think>')|last).lstrip('\\n') %}\n                     ^\n at row 49, column 81:\n  {%- if x %}\n",
    'Value is not callable: null',
  ],
  [
    'llama.cpp, a schema',
    'Failed to initialize samplers: failed to parse grammar',
    'Failed to initialize samplers: failed to parse grammar',
  ],
  [
    'llama.cpp, another schema',
    'JSON schema conversion failed:\nUnrecognized schema: {"type":"x"}',
    'JSON schema conversion failed: Unrecognized schema: {"type":"x"}',
  ],
  [
    'LM Studio, a template',
    `Error rendering prompt with jinja template: "No user query found in messages.".\n\n${advice}`,
    'No user query found in messages.',
  ],
  [
    'LM Studio, a template in one line',
    `Error rendering prompt with jinja template: "Unknown test: sequence". ${advice}`,
    'Unknown test: sequence',
  ],
  [
    'LM Studio, a stack',
    'Error rendering prompt with jinja template: "Error: Parser Error: Expected closing statement token. OpenSquareBracket !== CloseStatement.\n    at _0x29a15f (C:\\Users\\x\\llmworker.js:77:227699)\n',
    'Parser Error: Expected closing statement token. OpenSquareBracket !== CloseStatement.',
  ],
  ['SGLang, a template', 'jinja2.exceptions.TemplateError: System role not supported', 'System role not supported'],
  [
    'Ollama, a template',
    'template: :3:12: executing "" at <.Foo>: can\'t evaluate field Foo in type map',
    'template: :3:12: executing "" at <.Foo>: can\'t evaluate field Foo in type map',
  ],
  [
    'Ollama, a picture',
    'Failed to create new sequence: failed to process inputs: image: unknown format',
    'Failed to create new sequence: failed to process inputs: image: unknown format',
  ],
  [
    'Ollama, a model without pictures',
    'this model is missing data required for image input',
    'this model is missing data required for image input',
  ],
  [
    'Pillow',
    'cannot identify image file <_io.BytesIO object at 0x7f1>',
    'cannot identify image file <_io.BytesIO object at 0x7f1>',
  ],
  [
    'llama-cpp-python, a format',
    `1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': "Input should be 'text' or 'json_object'", 'input': 'json_schema'}${traceback}`,
    "response_format.type: Input should be 'text' or 'json_object'",
  ],
  [
    'llama-cpp-python, a message',
    `2 validation errors:\n  {'type': 'literal_error', 'loc': ('body', 'messages', 1, 'ChatCompletionRequestSystemMessage', 'role'), 'msg': "Input should be 'system'", 'input': 'assistant'}\n  {'type': 'string_type', 'loc': ('body', 'messages', 1, 'ChatCompletionRequestAssistantMessage', 'content'), 'msg': 'Input should be a valid string', 'input': None}${traceback}`,
    'messages[1].content: Input should be a valid string',
  ],
  [
    'LiteLLM before llama-cpp-python',
    `litellm.InternalServerError: InternalServerError: OpenAIException - 1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': "Input should be 'text'", 'input': 'x'}${traceback}\n\nLiteLLM: model group 'x' failed with the error above.`,
    "response_format.type: Input should be 'text'",
  ],
  [
    'llama-cpp-python, half a character',
    "'utf-8' codec can't encode character '\\ud83d' in position 7: surrogates not allowed",
    "'utf-8' codec can't encode character '\\ud83d' in position 7: surrogates not allowed",
  ],
]

const facts = (status: number, message: string): FailureFacts => ({
  kind: 'status',
  status,
  contentType: 'application/json',
  retryAfter: null,
  body: JSON.stringify({ error: { message, type: 'server_error', code: status } }),
})

t.test('a known sentence about the request is its refusal, also with a 500, and no failure of the target', (t) => {
  for (const [server, message, sentence] of refusals)
    for (const status of [400, 500]) {
      const refusal = classifyFailure(facts(status, message))
      t.equal(refusal.code, 'invalid_request', `${server}, ${status}`)
      const { detail } = refusal.details.params as { detail: { en: string } }
      t.equal(detail.en, sentence, `${server}, ${status}`)
      t.notOk(countsAgainstBreaker(facts(status, message)), `${server}, ${status}`)
    }
  for (const message of ['Failed to parse input at pos 12', 'CUDA out of memory', 'Internal Server Error', 'slot unavailable'])
    t.equal(classifyFailure(facts(500, message)).code, 'upstream_error', message)
  t.equal(
    classifyFailure(
      facts(500, "1 validation error:\n  {'type': 'missing', 'loc': ('response', 'choices'), 'msg': 'Field required'}"),
    ).code,
    'upstream_error',
    "llama-cpp-python's own answer",
  )
  t.equal(classifyFailure(facts(500, 'tools param requires --jinja flag')).code, 'upstream_not_configured')
  t.end()
})

t.test('the sentence of a text without source is the text', (t) => {
  for (const text of ['temperature must be non-negative', "Invalid value: 'x'", 'one\ntwo', ''])
    t.equal(toRefusalText(text), text)
  t.end()
})

t.test('the work on a hostile text is bounded', (t) => {
  const before = process.threadCpuUsage()
  for (const piece of [' ', '{', "'loc': ('body', ", 'Error: ', 'a.', 'at row 1, column ', '1 validation error\n', '; tools = '])
    toRefusalText(`jinja ${piece.repeat(65_536)}`)
  const { user } = process.threadCpuUsage(before)
  t.ok(user < 2_000_000, `${user} µs`)
  t.end()
})
