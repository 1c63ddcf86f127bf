/** The beginning of an answer of each API that an upstream can have, and the errors with which it can end. */
interface PartialStream {
  readonly settings: Readonly<Record<string, unknown>>
  /** Events with 40 words of output. */
  readonly output: string
  readonly refusals: readonly object[]
  readonly failures: readonly object[]
}

const words = 'word '.repeat(40)
export const toEvent = (event: { readonly type?: string }): string =>
  `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`
const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }

export const partialStreams: Readonly<Record<string, PartialStream>> = {
  'chat completions': {
    settings: {},
    output: toEvent({ ...chunk, choices: [{ index: 0, delta: { content: words }, finish_reason: null }] } as object),
    refusals: [
      { error: { message: 'Invalid image in the request.', type: 'invalid_request_error' } },
      { error: { message: 'the schema is no grammar', type: 'BadRequestError', code: 400 } },
      { error: { message: 'the request exceeds the available context size', type: 'exceed_context_size_error', code: 400 } },
      { error: { message: 'Failed to parse messages: no such role', type: 'server_error', code: 500 } },
    ],
    failures: [
      ...['error', 'MALFORMED_FUNCTION_CALL', 'malformed_model_output'].map((reason) => ({
        ...chunk,
        choices: [{ index: 0, delta: {}, finish_reason: reason }],
      })),
      { error: { message: 'CUDA error: out of memory', type: 'server_error', code: 500 } },
      { error: { message: 'Overloaded', code: 503 } },
      { error: { message: 'Too many requests', code: 429 } },
      { error: 'it broke' },
    ],
  },
  messages: {
    settings: { kind: 'anthropic' },
    output: [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 5, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
    ]
      .map(toEvent)
      .join(''),
    refusals: [{ type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } }],
    failures: [
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { type: 'error', error: { type: 'api_error', message: 'Internal server error' } },
    ],
  },
  gemini: {
    settings: { kind: 'gemini' },
    output: toEvent({
      candidates: [{ content: { role: 'model', parts: [{ text: words }] }, index: 0 }],
      usageMetadata: { promptTokenCount: 5 },
    } as object),
    refusals: [
      { error: { code: 400, message: 'Unable to process input image.', status: 'INVALID_ARGUMENT' } },
      {
        error: {
          code: 400,
          message: 'The input token count exceeds the maximum number of tokens allowed 8.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    failures: [
      { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
      { error: { code: 500, message: 'An internal error has occurred.', status: 'INTERNAL' } },
      { error: { code: 429, message: 'Resource has been exhausted.', status: 'RESOURCE_EXHAUSTED' } },
    ],
  },
  responses: {
    settings: { responses: true },
    output: [
      { type: 'response.created', response: { id: 'r', object: 'response', status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { id: 'i', type: 'message', role: 'assistant', content: [] } },
      { type: 'response.output_text.delta', item_id: 'i', output_index: 0, content_index: 0, delta: words },
    ]
      .map(toEvent)
      .join(''),
    refusals: [
      { type: 'error', code: 'invalid_image', message: 'The image cannot be read.', param: null },
      { type: 'response.failed', response: { id: 'r', status: 'failed', error: { code: 'invalid_prompt', message: 'No.' } } },
    ],
    failures: [
      { type: 'error', code: 'server_error', message: 'It broke.', param: null },
      { type: 'response.failed', response: { id: 'r', status: 'failed', error: { code: 'server_error', message: 'It broke.' } } },
    ],
  },
}
