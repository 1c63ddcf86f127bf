/** `svc chat` with one question against a scripted service: the streamed answer, and every failure of a stream. */
import { once } from 'node:events'
import t from 'tap'
import type { Test } from 'tap'
import {
  toChunkEvent,
  createErrorEnvelope,
  sendError,
  sendJson,
  startStubGateway,
  createStreamRoute,
} from '../../../support/cli/stub-gateway.ts'
import type { ReceivedRequest, Route } from '../../../support/cli/stub-gateway.ts'
import { startSvcProcess, runSvc } from '../../../support/cli/run-svc.ts'

const env = { SVC_API_KEY: 'svc_live_x' }
const path = 'POST /v1/chat/completions'

async function chatServer(t: Test, route: Route) {
  const server = await startStubGateway({ [path]: route })
  t.teardown(() => server.close())
  return server
}

t.test('prints the answer to one question as it streams, and sends a valid request', async (t) => {
  const server = await chatServer(t, createStreamRoute('Hel', 'lo', ' you'))
  const ended = await runSvc(['chat', 'say', 'hello', '-m', 'svc-2.1', '--system', 'be kind'], {
    home: t.testdir(),
    site: server.origin,
    env,
  })
  t.strictSame(ended, { code: 0, stdout: 'Hello you\n', stderr: '' })
  const { headers, body } = server.requests[0] as ReceivedRequest
  t.equal(headers.authorization, 'Bearer svc_live_x')
  t.equal(headers.accept, 'text/event-stream')
  t.match(body, {
    model: 'svc-2.1',
    stream: true,
    messages: [
      { role: 'system', content: 'be kind' },
      { role: 'user', content: 'say hello' },
    ],
  })
})

t.test('usage data with control sequences does not control the terminal', async (t) => {
  const usage = { usage: { words: '\u009b31m\u009d0;title\u009c\u202e' }, choices: [] }
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${toChunkEvent('a', 'stop')}data: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`)
  })
  const { stderr } = await runSvc(['chat', 'x', '--verbose'], { home: t.testdir(), site: server.origin, env })
  t.match(stderr, /usage: \{"words"/)
  t.notMatch(stderr, /[\u0080-\u009f\u202e]/)
})

t.test('prints text before the answer is complete', async (t) => {
  let finish = () => {}
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(toChunkEvent('first '))
    finish = () => response.end(`${toChunkEvent('second')}${toChunkEvent('', 'stop')}data: [DONE]\n\n`)
  })
  const { child, result } = await startSvcProcess(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  const [first] = await once(child.stdout ?? child, 'data')
  t.equal(String(first), 'first ')
  finish()
  t.equal((await result).code, 0)
})

t.test('parses a stream that is split anywhere, also inside a character, and that has comments', async (t) => {
  const bytes = Buffer.from(
    `: keep-alive\n\n${toChunkEvent('你好 👍 é')}: more\n\n${toChunkEvent('\r\nend', 'stop')}data: [DONE]\r\n\r\n`,
  )
  const server = await chatServer(t, async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const byte of bytes) {
      response.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    response.end()
  })
  t.equal((await runSvc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })).stdout, '你好 👍 é\nend\n')
})

t.test('a failure before the first chunk prints its Ref line', async (t) => {
  const server = await chatServer(t, (received, response) => sendError(response, received, 'upstream_not_configured', 401))
  const ended = await runSvc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  t.equal(ended.code, 7)
  t.equal(ended.stdout, '')
  t.match(ended.stderr, /Ref: mbr_\w+ · upstream_not_configured · stage=upstream · HTTP 503 · up=401\n$/)
  t.notMatch(ended.stderr, 'svc login')
})

t.test('a failure in the middle of a stream keeps the printed text and reports the failure', async (t) => {
  const server = await chatServer(t, (received, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      `${toChunkEvent('so far')}data: ${JSON.stringify(createErrorEnvelope(received, 'upstream_error', 500))}\n\ndata: [DONE]\n\n`,
    )
  })
  const home = t.testdir()
  const ended = await runSvc(['chat', 'x'], { home, site: server.origin, env })
  t.equal(ended.code, 7)
  t.equal(ended.stdout, 'so far\n')
  t.match(ended.stderr, /Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 200 · up=500\n$/)
  const lines = (await runSvc(['chat', 'x', '--json'], { home, site: server.origin, env })).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(lines, [
    { event: 'delta', text: 'so far' },
    { ok: false, error: { code: 'upstream_error' } },
  ])
})

t.test('a stream that ends early, is cut off, or is not JSON is a failure', async (t) => {
  const endings: readonly (readonly [string, Route])[] = [
    ['ends without a finish reason', (_, response) => void response.end(toChunkEvent('half'))],
    ['says [DONE] without a finish reason', (_, response) => void response.end(`${toChunkEvent('half')}data: [DONE]\n\n`)],
    ['holds nonsense', (_, response) => void response.end(`${toChunkEvent('half')}data: {oops\n\n`)],
    ['is cut', (_, response) => void response.write(toChunkEvent('half'), () => response.destroy())],
  ]
  const home = t.testdir()
  for (const [name, route] of endings) {
    const server = await chatServer(t, (received, response, request) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return route(received, response, request)
    })
    const ended = await runSvc(['chat', 'x'], { home, site: server.origin, env })
    t.equal(ended.code, 7, name)
    t.match(ended.stderr, /request id: mbr_/, name)
  }
})

t.test('--json prints one object per line and the whole answer at the end', async (t) => {
  const server = await chatServer(t, createStreamRoute('a', 'b'))
  const ended = await runSvc(['--json', 'chat', 'x'], { home: t.testdir(), site: server.origin, env })
  const lines = ended.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(lines, [
    { event: 'delta', text: 'a' },
    { event: 'delta', text: 'b' },
    { ok: true, result: { text: 'ab', model: 'svc-2.1', finish_reason: 'stop', request_id: /^mbr_/ } },
  ])
})

t.test('--no-stream requests the whole answer at once', async (t) => {
  const server = await chatServer(t, (_, response) =>
    sendJson(response, {
      model: 'svc',
      choices: [{ message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
      usage: {},
    }),
  )
  t.equal((await runSvc(['chat', 'x', '--no-stream'], { home: t.testdir(), site: server.origin, env })).stdout, 'whole\n')
  t.equal(server.requests[0]?.body['stream'], false)
})

t.test('marks an answer that reached its maximum length', async (t) => {
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${toChunkEvent('long')}${toChunkEvent('', 'length')}data: [DONE]\n\n`)
  })
  const ended = await runSvc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  t.match(ended, { code: 0, stdout: 'long\n', stderr: /reached its longest length/ })
})

t.test('reads the question from standard input, alone or in place of -', async (t) => {
  const server = await chatServer(t, createStreamRoute('ok'))
  const home = t.testdir()
  const content = () => (server.requests.at(-1)?.body['messages'] as { content: string }[] | undefined)?.[0]?.content
  await runSvc(['chat'], { home, site: server.origin, env, input: 'from a pipe\n' })
  t.equal(content(), 'from a pipe')
  await runSvc(['chat', 'Summarise:', '-'], { home, site: server.origin, env, input: 'notes\n' })
  t.equal(content(), 'Summarise: \n\nnotes')
  const empty = await runSvc(['chat'], { home, site: server.origin, env, input: '' })
  t.equal(empty.code, 2)
  t.match(empty.stderr, 'prompt is empty')
})

t.test('the model comes from the option, then SVC_MODEL, then svc config, then auto', async (t) => {
  const server = await chatServer(t, createStreamRoute('ok'))
  const home = t.testdir()
  const model = () => server.requests.at(-1)?.body['model']
  await runSvc(['chat', 'x'], { home, site: server.origin, env })
  t.equal(model(), 'auto')
  await runSvc(['config', 'set', 'model', 'svc-2.1-fast'], { home })
  await runSvc(['chat', 'x'], { home, site: server.origin, env })
  t.equal(model(), 'svc-2.1-fast')
  await runSvc(['chat', 'x'], { home, site: server.origin, env: { ...env, SVC_MODEL: 'svc' } })
  t.equal(model(), 'svc')
  await runSvc(['chat', 'x', '--model', 'svc-2.1'], { home, site: server.origin, env: { ...env, SVC_MODEL: 'svc' } })
  t.equal(model(), 'svc-2.1')
})

t.test('Ctrl-C cancels the request at the server and ends the command with 130', async (t) => {
  let gone = () => {}
  const closed = new Promise<void>((resolve) => {
    gone = resolve
  })
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(toChunkEvent('thinking '))
    response.on('close', gone)
  })
  const { child, result } = await startSvcProcess(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  await once(child.stdout ?? child, 'data')
  child.kill('SIGINT')
  await closed
  const { code, stderr } = await result
  t.equal(code, 130)
  t.match(stderr, 'Interrupted.')
})

t.test('a reader that closes the pipe causes no failure', async (t) => {
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const more = () => !response.destroyed && response.write(toChunkEvent('line\n'.repeat(2000)), () => setImmediate(more))
    more()
  })
  const { child, result } = await startSvcProcess(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  await once(child.stdout ?? child, 'data')
  // The read end of the pipe is closed, so only the rejection of `ended` remains to wait for.
  result.catch(() => {})
  child.stdout?.destroy()
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
})

t.test("control sequences in a model's words are taken out, also when cut in two and also into a pipe", async (t) => {
  const server = await chatServer(t, createStreamRoute('a\u001b]0;own', 'ed\u0007b\u001b', '[31mc', '\u009b2Jd'))
  const home = t.testdir()
  t.equal((await runSvc(['chat', 'x'], { home, site: server.origin, env })).stdout, 'abcd\n')
  t.equal((await runSvc(['chat', 'x'], { home, site: server.origin, env: { ...env, FORCE_COLOR: '1' } })).stdout, 'abcd\n')
  const lines = (await runSvc(['chat', 'x', '--json'], { home, site: server.origin, env })).stdout
  t.equal(
    [...lines].some((character) => character !== '\n' && (character < ' ' || (character >= '\u007f' && character <= '\u009f'))),
    false,
  )
  t.equal(
    JSON.parse(lines.trimEnd().split('\n').at(-1) ?? '').result.text,
    'a\u001b]0;owned\u0007b\u001b[31mc\u009b2Jd',
    'JSON tells what was really said',
  )
})

t.test('renders Markdown where styles are on, and prints it unchanged with --raw or --no-color', async (t) => {
  const server = await chatServer(t, createStreamRoute('# Ti', 'tle\nwith **bold**'))
  const home = t.testdir()
  const shown = async (words: string[], more: Record<string, string>) =>
    (await runSvc(['chat', 'x', ...words], { home, site: server.origin, env: { ...env, ...more } })).stdout
  t.equal(await shown([], { FORCE_COLOR: '1' }), '\u001b[1m\u001b[4mTitle\u001b[24m\u001b[22m\n\nwith \u001b[1mbold\u001b[22m\n')
  t.equal(await shown(['--raw'], { FORCE_COLOR: '1' }), '# Title\nwith **bold**\n')
  t.equal(await shown(['--no-color'], { FORCE_COLOR: '1' }), '# Title\nwith **bold**\n')
  t.equal(await shown([], {}), '# Title\nwith **bold**\n', 'a pipe')
})

t.test('refuses a conversation without a terminal', async (t) => {
  const home = t.testdir()
  t.match(await runSvc(['chat', '-i'], { home, env }), { code: 2, stderr: /needs a terminal/ })
  t.match(await runSvc(['chat', '-i', '--json'], { home, env }), { code: 2 })
})
