/** The upstream of the run, in the bench's own process: it does what each turn's script says and remembers what it made, and when. */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Script } from './script.ts'

/** One call, under the request id the gateway has sent with it. */
export interface Call {
  /** Of the whole answer: the script's, or as many as were asked for at most. */
  readonly tokens: number
  /** When each token was written. */
  readonly made: number[]
  ended: 'complete' | 'failed' | 'abandoned' | null
  endedAt: number
}

export interface Upstream {
  readonly url: string
  /** By request id; more than one where a turn was sent up again. */
  readonly calls: ReadonlyMap<string, Call[]>
  close(): void
}

export async function startUpstream(scriptOf: (turn: number) => Script | undefined): Promise<Upstream> {
  const calls = new Map<string, Call[]>()
  const server = createServer((request, response) => {
    response.on('error', () => undefined)
    void answer(request, response).catch(() => undefined)
  })
  server.keepAliveTimeout = 60_000

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return sendJson(response, 200, { object: 'list', data: [{ id: 'big' }, { id: 'small' }] })
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const script = scriptOf(Number(/turn (\d+)/.exec(text)?.[1]))
    const id = String(request.headers['x-request-id'])
    if (script === undefined) throw new Error(`nobody has asked for ${id}`)
    const cap = Number(/"max(?:_completion)?_tokens":(\d+)/.exec(text)?.[1] ?? Infinity)
    const [tokens, failsAfter] = [Math.min(script.tokens, cap), Math.min(script.failsAfter, cap)]
    const call: Call = { tokens, made: [], ended: null, endedAt: 0 }
    const known = calls.get(id)
    if (known === undefined) calls.set(id, [call])
    else known.push(call)
    const end = (how: 'complete' | 'failed' | 'abandoned'): void => {
      if (call.ended !== null) return
      call.ended = how
      call.endedAt = performance.now()
    }
    response.on('close', () => end('abandoned'))
    await play({ ...script, tokens, failsAfter }, call, response, end)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function play(
  script: Script,
  call: Call,
  response: ServerResponse,
  end: (how: 'complete' | 'failed') => void,
): Promise<void> {
  const { ending, tokens, paceMs, headMs } = script
  if (headMs > 0) await pause(headMs)
  const reset = (): void => {
    end('failed')
    response.socket?.resetAndDestroy()
  }
  switch (ending) {
    case 'status':
      end('failed')
      return sendJson(response, script.status, { error: { message: 'It rains.', type: 'weather', code: 'weather' } })
    case 'web_page':
      end('failed')
      response.writeHead(200, { 'content-type': 'text/html' })
      return void response.end('<html><body>"choices" are many here</body></html>')
    case 'reset_at_once':
      return reset()
  }
  const isWhole = ending === 'complete'
  const count = isWhole ? tokens : script.failsAfter
  if (isWhole && script.asDocument) {
    // All of it is made while nothing shows; a stream of the same would have shown it.
    if (paceMs > 0) await pause(paceMs * tokens)
    const choice = { index: 0, message: { role: 'assistant', content: word.repeat(tokens) }, finish_reason: 'stop' }
    const usage = reportOf(script)
    const inChoice = script.usage === 'in_choice'
    made(call, tokens)
    end('complete')
    return sendJson(response, 200, {
      ...head,
      object: 'chat.completion',
      choices: [inChoice ? { ...choice, usage } : choice],
      ...(usage === null || inChoice ? {} : { usage }),
    })
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (paceMs === 0) {
    made(call, count)
    if (isWhole) {
      end('complete')
      return void response.end(tokenEvent.repeat(count) + lastEvents(script))
    }
    response.write(tokenEvent.repeat(count))
  } else {
    for (let i = 0; i < count; i++) {
      if (response.destroyed) return
      made(call, 1)
      response.write(tokenEvent)
      await pause(paceMs)
    }
    if (response.destroyed) return
  }
  switch (ending) {
    case 'reset_midway':
      // What was written is to be on its way first.
      await pause(5)
      return reset()
    case 'error_midway':
      response.write('data: {"error":{"message":"It rains.","type":"weather","code":500}}\n\n')
      break
    case 'garbage':
      response.write('data: {"choices":[{"index":0,"del\n\n')
      break
    case 'complete':
      response.write(lastEvents(script))
  }
  end(isWhole ? 'complete' : 'failed')
  response.end()
}

const word = ' wor'
const head = { id: 'chatcmpl-1', created: 1, model: 'big' }
const tokenEvent = eventOf({ choices: [{ index: 0, delta: { content: word }, finish_reason: null }] })

function eventOf(more: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`
}

function lastEvents(script: Script): string {
  const usage = reportOf(script)
  const inChoice = script.usage === 'in_choice'
  const choice = { index: 0, delta: {}, finish_reason: 'stop' }
  const finish = eventOf({ choices: [inChoice ? { ...choice, usage } : choice] })
  return `${finish}${usage === null || inChoice ? '' : eventOf({ choices: [], usage })}data: [DONE]\n\n`
}

function reportOf({ usage, inputTokens, tokens }: Script): object | null {
  if (usage === 'missing') return null
  const [input, output] = usage === 'zero' ? [0, 0] : [inputTokens, tokens]
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function made(call: Call, tokens: number): void {
  const now = performance.now()
  for (let i = 0; i < tokens; i++) call.made.push(now)
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}
