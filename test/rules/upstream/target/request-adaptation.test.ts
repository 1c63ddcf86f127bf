/** What a rejection teaches about its target, and what a member can make it teach. */
import t from 'tap'
import type { FailureFacts } from '../../../../src/exchange/upstream-failure.ts'
import { anthropicFormat } from '../../../../src/upstream/format/anthropic-format.ts'
import { geminiFormat } from '../../../../src/upstream/format/gemini-format.ts'
import { responsesFormat } from '../../../../src/upstream/format/responses-format.ts'
import { adaptToRejection } from '../../../../src/upstream/target/request-adaptation.ts'
import { Dialect } from '../../../../src/upstream/target/dialect.ts'
import { TargetCapabilities } from '../../../../src/upstream/target/target-capabilities.ts'

const added = {
  outputCap: 4_096,
  isCapAdded: true,
  isStreamAdded: true,
  isTranslated: true,
  format: null,
  promptTokens: 10,
  account: 'a',
}

function rejection(message: string): FailureFacts {
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error' } })
  return { kind: 'status', status: 400, contentType: 'application/json', retryAfter: null, body }
}

function learn(message: string): Dialect & { readonly streamRejected: boolean } {
  const dialect = new Dialect({ maxTokensField: 'max_tokens', developerRole: 'developer' })
  adaptToRejection(rejection(message), added, dialect)
  const mode = { stream: true, includeUsage: true }
  const streamRejected = new TargetCapabilities().recordRejection('a/b', mode, rejection(message), 0)
  return Object.assign(dialect, { streamRejected })
}

t.test('a rejection in the words of the server teaches its limit', (t) => {
  t.match(learn("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"), {
    contextLength: 4_096,
  })
  t.match(learn("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), {
    capField: 'max_completion_tokens',
  })
  t.match(learn('messages[0].role: unknown variant `developer`, expected one of `system`, `user`'), { developerRole: 'system' })
  t.match(learn('max_tokens is too large: at most 512 completion tokens'), { maxOutputTokens: 512 })
  t.match(learn('Streaming is not supported for this model'), { streamRejected: true })
  t.end()
})

t.test('a rejection that quotes a member teaches nothing about the target', (t) => {
  const fresh = {
    capField: 'max_tokens',
    developerRole: 'developer',
    contextLength: null,
    maxOutputTokens: null,
    streamRejected: false,
  }
  for (const words of [
    "This model's maximum context length is 100 tokens",
    'maximum context length is 100 tokens, you requested 5000 tokens',
    'max_tokens is not supported',
    'at most 5 completion tokens',
    'role developer is an unknown variant',
    'stream is not supported here',
    'stream_options and include_usage are unknown',
  ])
    for (const quote of ['"', '`', "'"]) {
      const { droppedFields, droppedTranslatedFields, ...learned } = learn(
        `Invalid value: ${quote}${words}${quote}. Supported values are: 'auto'.`,
      )
      t.match(learned, fresh, `${quote}${words}`)
      t.equal(droppedFields.size + droppedTranslatedFields.size, 0, words)
    }
  t.end()
})

t.test('a rejection of what only clients of an API send concerns the account alone', (t) => {
  for (const [format, messages] of [
    [
      anthropicFormat,
      [
        "messages.1.role: Input should be 'user' or 'assistant'",
        'tools.3.custom.defer_loading: Extra inputs are not permitted',
        'messages.0.content.1.tool_use.caller: Extra inputs are not permitted',
        'context_management: Extra inputs are not permitted',
        'cache_control: Extra inputs are not permitted',
        'Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header.',
      ],
    ],
    [
      responsesFormat,
      [
        "Invalid value: 'namespace'. Supported values are: 'function' and 'custom'.",
        "Unknown parameter: 'input[0].id'.",
        "Unknown parameter: 'client_metadata'.",
        "Unsupported parameter: 'reasoning.context' is not supported with this model.",
        'Input should be a valid role, developer is no known role',
      ],
    ],
    [geminiFormat, ['Invalid JSON payload received. Unknown name "note" at \'contents[0].parts[0]\': Cannot find field.']],
  ] as const)
    for (const message of messages) {
      const dialect = new Dialect({ maxTokensField: 'max_tokens', developerRole: 'system' })
      const reject = () => adaptToRejection(rejection(message), { ...added, format }, dialect)
      t.match(reject(), { retryable: true }, message)
      t.match(reject(), { retryable: false }, 'once')
      t.same([dialect.describe('a').refusesNative, dialect.describe('b').refusesNative], [true, false])
      t.same(
        dialect.describeAll().map(({ refusesNative }) => refusesNative),
        [false, true],
      )
      t.equal(dialect.droppedFields.size, 0)
      const other = new Dialect({ maxTokensField: 'max_tokens', developerRole: 'system' })
      adaptToRejection(rejection(message), { ...added, format, isTranslated: false }, other)
      t.equal(other.describe('a').refusesNative, false, 'not for a request of chat completions')
    }
  t.end()
})

t.test('the work on a hostile text is bounded', (t) => {
  const before = process.threadCpuUsage()
  const pieces = ["'", " '", '"', ' `', "a'a", "' '", '{"', 'messages.1', 'input[1', 'invalid ', 'role ', 'unknown name ']
  for (const piece of pieces)
    for (const format of [null, anthropicFormat, responsesFormat, geminiFormat])
      adaptToRejection(
        rejection(piece.repeat(20_000)),
        { ...added, format },
        new Dialect({ maxTokensField: 'max_tokens', developerRole: 'system' }),
      )
  const { user } = process.threadCpuUsage(before)
  t.ok(user < 2_000_000, `${user} µs`)
  t.end()
})
