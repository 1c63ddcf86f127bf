/** Clients that reset, and repeat idempotency keys during and after failures, at upstreams of each API; and failures that quote the prompt. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { partialStreams, toEvent } from '../../../../support/formats/partial-streams.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import type { Overrides } from '../../../../support/gateway/test-gateway.ts'
import { startScriptedServer } from '../../../../support/upstream/scripted-server.ts'

const marker = 'Marker5c1e'

for (const [name, { settings, output, refusals, failures }] of Object.entries(partialStreams))
  t.test(`an upstream of ${name} behind hostile clients`, async (t) => {
    let redirectedCount = 0
    const elsewhere = await startScriptedServer(t, (_, response) => {
      redirectedCount++
      response.end()
    })
    // Answers begin, and end as the test decides.
    const open: ServerResponse[] = []
    let location: string | null = null
    const server = await startScriptedServer(t, (_, response) => {
      if (location !== null) return void response.writeHead(307, { location }).end()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(output)
      open.push(response)
    })
    const targets = [{ upstream: 'scripted', model: 'm' }]
    const scripted = { baseUrl: server.url, restAfterFailures: 0, ...settings }
    const g = await startGateway(t, { upstreams: { scripted }, products: { 'svc-2.1': { targets } } } as Overrides)
    const { token } = await g.createMember()
    const messages = [{ role: 'user', content: `Hello, ${marker}!` }]
    const body = JSON.stringify({ model: 'svc-2.1', max_tokens: 500, stream: true, messages })
    const authorization = `Bearer ${token}`
    const send = (key: string): Promise<Response> => {
      const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': key }
      return fetch(`${g.url}/v1/chat/completions`, { method: 'POST', headers, body })
    }
    const takeOpen = async (): Promise<ServerResponse> => {
      await waitUntil(() => open.length > 0, 'a call')
      return open.shift() as ServerResponse
    }
    const readLastTurn = async () => {
      await g.waitUntilSettled()
      return (await g.listTurns())[0]
    }

    t.comment('a client resets within the answer, and repeats its key')
    const { hostname, port } = new URL(g.url)
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\nidempotency-key: reset\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
    await waitUntil(() => received.includes('word'), 'the output')
    const abandoned = await takeOpen()
    socket.resetAndDestroy()
    await once(abandoned, 'close')
    const charged = await readLastTurn()
    t.match(charged, { state: 'settled' })
    t.ok((charged?.outputTokens ?? 0) >= 40, `${charged?.outputTokens} tokens`)
    const repeated = await send('reset')
    t.equal(repeated.status, 409)
    t.match(await repeated.text(), new RegExp(`${charged?.credits} credits`))

    t.comment('a key is repeated while its turn runs, and after the turn failed')
    for (const event of failures) {
      const running = await send('failing')
      const during = await Promise.all([send('failing'), send('failing'), send('failing')])
      for (const each of during) {
        t.equal(each.status, 409)
        await each.text()
      }
      const quoting = JSON.parse(JSON.stringify(event).replace(/"message":"/, `"message":"${marker} `)) as object
      ;(await takeOpen()).end(toEvent(quoting))
      t.match(await running.text(), /"quotaRefunded":true/)
      t.match(await readLastTurn(), { state: 'refunded' })
      t.equal(open.length, 0, 'one call')
    }
    const after = await Promise.all([send('failing'), send('failing'), send('failing'), send('failing')])
    t.same(after.map(({ status }) => status).toSorted(), [200, 409, 409, 409], 'once more, whatever failed before')
    ;(await takeOpen()).end(toEvent(refusals[0] ?? {}))
    await Promise.all(after.map((each) => each.text()))
    t.match(await readLastTurn(), { state: 'settled' }, 'a refusal after the output')
    t.equal((await send('failing')).status, 409, 'which was charged')

    t.comment('an upstream resets, and redirects')
    const lost = await send('lost')
    ;(await takeOpen()).socket?.resetAndDestroy()
    t.match(await lost.text(), /"code":"upstream_error".*"quotaRefunded":true/s)
    location = `${elsewhere.url}/chat/completions?${marker}`
    const redirected = await send('redirected')
    t.match(await redirected.text(), /"code":"upstream_not_configured"/)
    t.equal(redirectedCount, 0)

    t.same(g.log.join('').match(new RegExp(`.*${marker}.*`, 'gi')), null, 'no word of the prompt is in the log')
    t.notMatch(g.log.join(''), /internal_error/)
  })
