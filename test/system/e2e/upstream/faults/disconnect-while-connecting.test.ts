/** A client that disconnects while the upstream connection is being opened, with a long prompt to send, ends no other turn. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createSelfSignedCertificate } from '../../../../support/servers/tls-certificate.ts'
import { startGatewayProcess } from '../../../../support/processes/gateway-process.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'

const connectDelayMs = 300

t.test('a disconnect before the upstream connects ends no other turn, and upstream calls use HTTP/1.1', async (t) => {
  const folder = createTemporaryFolder(t)
  const { cert, key } = createSelfSignedCertificate(folder)
  const versions: string[] = []
  const events = [{ delta: { content: 'Hi' } }, { delta: {}, finish_reason: 'stop' }].map(
    (choice) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] })}\n\n`,
  )
  const upstream = createSecureServer(
    { cert: readFileSync(cert), key: readFileSync(key), allowHTTP1: true },
    (request, response) => {
      versions.push(request.httpVersion)
      // So that each call opens a connection.
      if (request.httpVersion === '1.1') response.setHeader('connection', 'close')
      request.on('error', () => undefined)
      request.on('end', () =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${events.join('')}data: [DONE]\n\n`),
      )
      request.resume()
    },
  )
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => upstream.close())
  const far = createServer(async (socket) => {
    socket.on('error', () => undefined).pause()
    await pause(connectDelayMs)
    const on = connect((upstream.address() as AddressInfo).port, '127.0.0.1')
    on.on('error', () => socket.destroy())
    socket.pipe(on).pipe(socket)
  })
  far.listen(0, '127.0.0.1')
  await once(far, 'listening')
  t.teardown(() => far.close())

  const g = await startGatewayProcess({
    command: [process.execPath, 'src/operator/start.ts'],
    dataDir: folder,
    env: {
      UPSTREAM_BASE_URL: `https://127.0.0.1:${(far.address() as AddressInfo).port}/v1`,
      UPSTREAM_MODEL_LIGHT: 'a',
      UPSTREAM_MODEL_FLAGSHIP: 'b',
      NODE_EXTRA_CA_CERTS: cert,
    },
  })
  t.teardown(() => g.stop())
  const ask = (signal: AbortSignal | null = null) =>
    fetch(`${g.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${g.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'svc-2.1',
        stream: true,
        max_tokens: 20,
        messages: [{ role: 'user', content: 'word '.repeat(30_000) }],
      }),
      signal,
    })
  await t.rejects(ask(AbortSignal.timeout(connectDelayMs / 2)))
  await pause(connectDelayMs * 3)
  const answer = await ask()
  t.equal(answer.status, 200)
  t.match(await answer.text(), /\[DONE\]/)
  t.same([...new Set(versions)], ['1.1'])
})
