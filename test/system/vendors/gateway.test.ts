/** Some vendors behind a gateway: what members of each API receive and are charged. The rules are in `vendors.test.ts`. */
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { sendJson, startScriptedServer } from '../../support/upstream/scripted-server.ts'
import { gemini } from './answers/gemini.ts'
import { minimax } from './answers/minimax.ts'
import { mistral } from './answers/mistral.ts'
import { xai } from './answers/xai.ts'
import type { Vendor, VendorAnswer, VendorFailure } from './vendor.ts'

type Scripted = VendorAnswer | VendorFailure

/** Answers as the last message asks: `answers 0` or `failures 0`. */
async function startVendor(t: Test, vendor: Vendor) {
  const server = await startScriptedServer(t, (_, response, body) => {
    const request = JSON.parse(body) as { readonly messages: readonly { readonly content: unknown }[]; readonly stream?: boolean }
    const [, list, at] = /(answers|failures) (\d+)/.exec(JSON.stringify(request.messages.at(-1)?.content)) ?? []
    const scripted: Scripted | undefined = vendor[list === 'failures' ? 'failures' : 'answers'][Number(at)]
    if (scripted === undefined) return void response.writeHead(500).end()
    if ('status' in scripted) return sendJson(response, scripted.status, scripted.body as object)
    if ('whole' in scripted && (request.stream !== true || !('stream' in scripted)))
      return sendJson(response, 200, scripted.whole)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if ('stream' in scripted) for (const event of scripted.stream) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  const gateway = await startGateway(t, {
    upstreams: {
      main: { baseUrl: server.url },
      whole: { baseUrl: server.url, streams: false, restAfterFailures: 0, rejectedKeyRestMs: 0 },
    },
    products: { 'svc-2.1-pro': { targets: [{ upstream: 'whole', model: 'up' }] } },
  })
  return { gateway, member: await gateway.createMember() }
}

const formats = {
  '/v1/chat/completions': (content: string, stream: boolean) => ({
    messages: [{ role: 'user', content }],
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  }),
  '/v1/messages': (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: 1_000 }),
  '/v1/responses': (input: string) => ({ input }),
} as const

/** The streamed request is answered with a stream, the other one whole. */
const modes = [
  { model: 'svc-2.1', stream: true },
  { model: 'svc-2.1-pro', stream: false },
]

for (const vendor of [gemini, minimax, mistral, xai])
  t.test(`members of each API receive the answers of ${vendor.name}, and pay what it reports`, async (t) => {
    const { gateway, member } = await startVendor(t, vendor)
    const post = async (path: string, body: object) => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${member.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const answer = await response.text()
      await gateway.waitUntilSettled()
      const [turn] = await gateway.listTurns(member.id)
      return { status: response.status, answer, turn }
    }
    for (const [path, toBody] of Object.entries(formats))
      for (const mode of modes) {
        for (const [at, { name, events, usage }] of vendor.answers.entries()) {
          const { status, answer, turn } = await post(path, { ...mode, ...toBody(`answers ${at}`, mode.stream) })
          const title = `${name}, ${path}${mode.stream ? ', streamed' : ''}`
          t.equal(status, 200, title)
          t.match(turn, { state: 'settled', estimated: false, ...usage }, title)
          for (const event of events)
            if (event.kind === 'call') t.ok(answer.includes(JSON.stringify(event.name)), `${title}: the call ${event.name}`)
          t.match(answer, new RegExp(`"(?:completion|output)_tokens":${usage.outputTokens}\\b`), title)
        }
        for (const [at, failure] of vendor.failures.entries()) {
          const { status, answer, turn } = await post(path, { ...mode, ...toBody(`failures ${at}`, mode.stream) })
          const title = `${failure.name}, ${path}${mode.stream ? ', streamed' : ''}`
          // What was sent before the upstream refused the rest is charged, and cut off.
          const isCutOff = mode.stream && 'stream' in failure && failure.code === 'content_filter'
          t.match(turn, isCutOff ? { state: 'settled', outputTokens: 1 } : { state: 'refunded', credits: 0 }, title)
          t.match(answer, isCutOff ? /"length"|max_tokens|max_output_tokens/ : /"error"|response\.failed/, title)
          t.equal(status >= 400, !(mode.stream && 'stream' in failure && !answer.startsWith('{')), title)
        }
      }
  })
