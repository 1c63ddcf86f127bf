/** A small API format for tests: a request is `{model, ask, stream}`, and each event of an answer is a line. */
import type { AnswerEvent } from '../../../src/conversation/answer-event.ts'
import type { AnswerContext, AnswerEncoder, ApiFormat } from '../../../src/exchange/api-format/api-format.ts'
import { invalidRequest } from '../../../src/errors.ts'

interface LineState {
  readonly ask: string
}

/** `fails`: the method that throws. */
export function createLineFormat({ fails }: { readonly fails?: keyof AnswerEncoder } = {}): ApiFormat<LineState> {
  return {
    name: 'responses',
    toChat({ model, ask, stream, sealed, note }, { unseal }) {
      if (typeof ask !== 'string') throw invalidRequest({ en: "'ask' must be a string.", zh: "'ask' 必须是字符串。" }, 'ask')
      const reasoning = typeof sealed === 'string' ? unseal(sealed) : null
      const history = reasoning === null ? [] : [{ role: 'assistant', content: '', reasoning_content: reasoning }]
      return {
        chat: {
          model,
          messages: [...history, { role: 'user', content: ask }],
          ...(stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
        },
        state: { ask },
        ignored: note === undefined ? [] : ['note'],
      }
    },
    createEncoder: (context) => failAt(createEncoder(context), fails),
    toFailureReply: (_, { code }, reply) => ({
      ...reply,
      headers: { ...reply.headers, 'content-type': 'text/plain' },
      body: `failed ${code}`,
    }),
  }
}

function createEncoder({ state, model, requestId, inputEstimate, seal }: AnswerContext<LineState>): AnswerEncoder {
  return {
    start: () => `start ${requestId} ${model} ${inputEstimate} ${state.ask}\n`,
    push: (events) => events.map(writeEvent).join(''),
    heartbeat: () => 'heartbeat\n',
    end: () => 'end\n',
    fail: (_, { code }) => `failed ${code}\n`,
    whole: (events) => `whole ${joinText(events)} ${state.ask} ${seal('thought').length > 0}`,
  }
}

function writeEvent(event: AnswerEvent): string {
  if (event.kind === 'usage') return `usage ${JSON.stringify(event.usage)}\n`
  if (event.kind === 'finish') return `finish ${event.reason}\n`
  return event.kind === 'text' ? `push ${event.text}\n` : ''
}

function joinText(events: readonly AnswerEvent[]): string {
  return events.map((event) => (event.kind === 'text' ? event.text : '')).join('')
}

function failAt(encoder: AnswerEncoder, method: keyof AnswerEncoder | undefined): AnswerEncoder {
  if (method === undefined) return encoder
  const fail = (): never => {
    throw new Error(`${method} cannot encode`)
  }
  return { ...encoder, [method]: fail }
}
