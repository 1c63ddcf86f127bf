/** Errors that an upstream reports within its answer: what was delivered is charged where the request is the cause, and refunded otherwise. */
import t from 'tap'
import { partialStreams, toEvent } from '../../../../support/formats/partial-streams.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { Overrides } from '../../../../support/gateway/test-gateway.ts'
import { startScriptedServer } from '../../../../support/upstream/scripted-server.ts'

for (const [name, { settings, output, refusals, failures }] of Object.entries(partialStreams))
  for (const isStreamed of [true, false])
    t.test(`an upstream of ${name} that refuses within ${isStreamed ? 'a stream' : 'a whole answer'}`, async (t) => {
      let [error, isInOnePiece]: [object, boolean] = [{}, false]
      const server = await startScriptedServer(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        isInOnePiece = !isInOnePiece
        if (isInOnePiece) response.end(output + toEvent(error))
        else response.write(output, () => setImmediate(() => response.end(toEvent(error))))
      })
      const scripted = { baseUrl: server.url, restAfterFailures: 0, ...settings }
      const targets = [{ upstream: 'scripted', model: 'm' }]
      const g = await startGateway(t, { upstreams: { scripted }, products: { 'svc-2.1': { targets } } } as Overrides)
      const { token } = await g.createMember()
      const send = async (event: object): Promise<string> => {
        error = event
        const answer = await fetch(`${g.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'svc-2.1',
            max_tokens: 500,
            stream: isStreamed,
            messages: [{ role: 'user', content: 'Hello!' }],
          }),
        })
        return answer.text()
      }
      for (const event of refusals.flatMap((each) => [each, each])) {
        const text = await send(event)
        const [turn] = await g.listTurns()
        if (isStreamed) {
          t.match(text, /word word.*"finish_reason":"length".*\[DONE\]\s*$/s, JSON.stringify(event))
          t.notMatch(text, /upstream_|"error":\{/)
          t.match(turn, { state: 'settled', code: null })
          t.ok((turn?.outputTokens ?? 0) >= 40, `${turn?.outputTokens} tokens`)
        } else {
          t.match(text, /"code":"(?:invalid_request|context_length_exceeded|content_filter)"/)
          t.match(turn, { state: 'refunded' })
        }
      }
      for (const event of failures) {
        t.match(await send(event), /"code":"upstream_\w+".*"quotaRefunded":true/s, JSON.stringify(event))
        t.match((await g.listTurns())[0], { state: 'refunded' })
      }
    })
