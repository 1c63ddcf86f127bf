/** The fixed answer of `demo-bench` and `demo-bench-whole`, created once so that a benchmark measures the gateway and not its upstream. */
import type { Clock } from '../../../src/system/clock.ts'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface BenchAnswer {
  /** Completion tokens in either form. */
  readonly tokens: number
  whole(res: ServerResponse): void
  /** Writes each event in its own turn of the event loop, so that it is sent as its own packet; stops when the client disconnects. */
  stream(res: ServerResponse, onTokens: (tokens: number) => void): Promise<void>
}

export function createBenchAnswer(
  { tokens, betweenMs }: { readonly tokens: number; readonly betweenMs: number },
  clock: Clock,
): BenchAnswer {
  const usage = { prompt_tokens: 8, completion_tokens: tokens, total_tokens: 8 + tokens }
  const head = { id: 'chatcmpl-demo-bench', created: 1_767_225_600, model: 'demo-bench' }
  const message = { role: 'assistant', content: ' token'.repeat(tokens).trim() }
  const whole = Buffer.from(
    JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage,
    }),
  )
  const wholeHeaders = { 'content-type': 'application/json', 'content-length': String(whole.length) }

  const event = (choices: readonly object[], more: object = {}) =>
    Buffer.from(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`)
  const opening = event([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
  const token = event([{ index: 0, delta: { content: ' token' }, finish_reason: null }])
  const ending = Buffer.concat([
    event([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    event([], { usage }),
    Buffer.from('data: [DONE]\n\n'),
  ])
  const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8' }

  return {
    tokens,
    whole(res) {
      res.writeHead(200, wholeHeaders)
      res.end(whole)
    },
    async stream(res, onTokens) {
      res.writeHead(200, streamHeaders)
      res.write(opening)
      for (let nth = 0; nth < tokens && !res.destroyed; nth++) {
        await (betweenMs === 0 ? nextTurn() : clock.wait(betweenMs))
        onTokens(1)
        if (!res.write(token) && !res.destroyed) await Promise.race([once(res, 'drain'), once(res, 'close')])
      }
      if (res.destroyed) throw new Error('the peer left')
      res.end(ending)
    },
  }
}
