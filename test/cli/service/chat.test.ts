/** `svc chat` with one question, against a scripted service: the words as they come, and every way a stream ends badly. */
import { once } from 'node:events'
import t from 'tap'
import type { Test } from 'tap'
import { chunk, envelope, fail, json, startContractServer, streamOf } from '../../support/contract-server.ts'
import type { Received, Route } from '../../support/contract-server.ts'
import { startSvc, svc } from '../../support/run-svc.ts'

const env = { SVC_API_KEY: 'svc_live_x' }
const path = 'POST /v1/chat/completions'

async function chatServer(t: Test, route: Route) {
  const server = await startContractServer({ [path]: route })
  t.teardown(() => server.close())
  return server
}

t.test('one question is answered as it streams, and the request is what the service wants', async (t) => {
  const server = await chatServer(t, streamOf('Hel', 'lo', ' you'))
  const ended = await svc(['chat', 'say', 'hello', '-m', 'svc-2.1', '--system', 'be kind'], {
    home: t.testdir(),
    site: server.origin,
    env,
  })
  t.strictSame(ended, { code: 0, stdout: 'Hello you\n', stderr: '' })
  const { headers, body } = server.received[0] as Received
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

t.test('a report of usage operates no terminal', async (t) => {
  const usage = { usage: { words: '\u009b31m\u009d0;title\u009c\u202e' }, choices: [] }
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${chunk('a', 'stop')}data: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`)
  })
  const { stderr } = await svc(['chat', 'x', '--verbose'], { home: t.testdir(), site: server.origin, env })
  t.match(stderr, /usage: \{"words"/)
  t.notMatch(stderr, /[\u0080-\u009f\u202e]/)
})

t.test('words appear before the answer is complete', async (t) => {
  let finish = () => {}
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('first '))
    finish = () => response.end(`${chunk('second')}${chunk('', 'stop')}data: [DONE]\n\n`)
  })
  const { child, ended } = await startSvc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  const [first] = await once(child.stdout ?? child, 'data')
  t.equal(String(first), 'first ')
  finish()
  t.equal((await ended).code, 0)
})

t.test('a stream may be cut anywhere, also inside a character, and may hold comments', async (t) => {
  const bytes = Buffer.from(`: keep-alive\n\n${chunk('你好 👍 é')}: more\n\n${chunk('\r\nend', 'stop')}data: [DONE]\r\n\r\n`)
  const server = await chatServer(t, async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const byte of bytes) {
      response.write(Buffer.of(byte))
      await new Promise(setImmediate)
    }
    response.end()
  })
  t.equal((await svc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })).stdout, '你好 👍 é\nend\n')
})

t.test('a failure before the first word is a failure with its Ref line', async (t) => {
  const server = await chatServer(t, (received, response) => fail(response, received, 'upstream_not_configured', 401))
  const ended = await svc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  t.equal(ended.code, 7)
  t.equal(ended.stdout, '')
  t.match(ended.stderr, /Ref: mbr_\w+ · upstream_not_configured · stage=upstream · HTTP 503 · up=401\n$/)
  t.notMatch(ended.stderr, 'svc login')
})

t.test('a failure in the middle of a stream keeps the words, then tells the failure', async (t) => {
  const server = await chatServer(t, (received, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${chunk('so far')}data: ${JSON.stringify(envelope(received, 'upstream_error', 500))}\n\ndata: [DONE]\n\n`)
  })
  const home = t.testdir()
  const ended = await svc(['chat', 'x'], { home, site: server.origin, env })
  t.equal(ended.code, 7)
  t.equal(ended.stdout, 'so far\n')
  t.match(ended.stderr, /Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 200 · up=500\n$/)
  const lines = (await svc(['chat', 'x', '--json'], { home, site: server.origin, env })).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(lines, [
    { event: 'delta', text: 'so far' },
    { ok: false, error: { code: 'upstream_error' } },
  ])
})

t.test('a stream that just ends, is cut, or is not JSON was not an answer', async (t) => {
  const endings: readonly (readonly [string, Route])[] = [
    ['ends without a finish reason', (_, response) => void response.end(chunk('half'))],
    ['says [DONE] without a finish reason', (_, response) => void response.end(`${chunk('half')}data: [DONE]\n\n`)],
    ['holds nonsense', (_, response) => void response.end(`${chunk('half')}data: {oops\n\n`)],
    ['is cut', (_, response) => void response.write(chunk('half'), () => response.destroy())],
  ]
  const home = t.testdir()
  for (const [name, route] of endings) {
    const server = await chatServer(t, (received, response, request) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return route(received, response, request)
    })
    const ended = await svc(['chat', 'x'], { home, site: server.origin, env })
    t.equal(ended.code, 7, name)
    t.match(ended.stderr, /request id: mbr_/, name)
  }
})

t.test('--json prints one object a line and the whole answer at the end', async (t) => {
  const server = await chatServer(t, streamOf('a', 'b'))
  const ended = await svc(['--json', 'chat', 'x'], { home: t.testdir(), site: server.origin, env })
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

t.test('--no-stream asks for the whole answer at once', async (t) => {
  const server = await chatServer(t, (_, response) =>
    json(response, {
      model: 'svc',
      choices: [{ message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
      usage: {},
    }),
  )
  t.equal((await svc(['chat', 'x', '--no-stream'], { home: t.testdir(), site: server.origin, env })).stdout, 'whole\n')
  t.equal(server.received[0]?.body['stream'], false)
})

t.test('an answer that was cut at its longest length is said to be', async (t) => {
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${chunk('long')}${chunk('', 'length')}data: [DONE]\n\n`)
  })
  const ended = await svc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  t.match(ended, { code: 0, stdout: 'long\n', stderr: /reached its longest length/ })
})

t.test('the question comes from standard input, alone or where - stands', async (t) => {
  const server = await chatServer(t, streamOf('ok'))
  const home = t.testdir()
  const content = () => (server.received.at(-1)?.body['messages'] as { content: string }[] | undefined)?.[0]?.content
  await svc(['chat'], { home, site: server.origin, env, input: 'from a pipe\n' })
  t.equal(content(), 'from a pipe')
  await svc(['chat', 'Summarise:', '-'], { home, site: server.origin, env, input: 'notes\n' })
  t.equal(content(), 'Summarise: \n\nnotes')
  const empty = await svc(['chat'], { home, site: server.origin, env, input: '' })
  t.equal(empty.code, 2)
  t.match(empty.stderr, 'prompt is empty')
})

t.test('the model comes from the option, then SVC_MODEL, then svc config, then auto', async (t) => {
  const server = await chatServer(t, streamOf('ok'))
  const home = t.testdir()
  const model = () => server.received.at(-1)?.body['model']
  await svc(['chat', 'x'], { home, site: server.origin, env })
  t.equal(model(), 'auto')
  await svc(['config', 'set', 'model', 'svc-2.1-fast'], { home })
  await svc(['chat', 'x'], { home, site: server.origin, env })
  t.equal(model(), 'svc-2.1-fast')
  await svc(['chat', 'x'], { home, site: server.origin, env: { ...env, SVC_MODEL: 'svc' } })
  t.equal(model(), 'svc')
  await svc(['chat', 'x', '--model', 'svc-2.1'], { home, site: server.origin, env: { ...env, SVC_MODEL: 'svc' } })
  t.equal(model(), 'svc-2.1')
})

t.test('Ctrl-C ends the request at the server and the command with 130', async (t) => {
  let gone = () => {}
  const closed = new Promise<void>((resolve) => {
    gone = resolve
  })
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('thinking '))
    response.on('close', gone)
  })
  const { child, ended } = await startSvc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  await once(child.stdout ?? child, 'data')
  child.kill('SIGINT')
  await closed
  const { code, stderr } = await ended
  t.equal(code, 130)
  t.match(stderr, 'Interrupted.')
})

t.test('a reader that goes away is no failure', async (t) => {
  const server = await chatServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const more = () => !response.destroyed && response.write(chunk('line\n'.repeat(2000)), () => setImmediate(more))
    more()
  })
  const { child, ended } = await startSvc(['chat', 'x'], { home: t.testdir(), site: server.origin, env })
  await once(child.stdout ?? child, 'data')
  // The reading end of the pipe is closed, so nothing of `ended` but its rejection is left to wait for.
  ended.catch(() => {})
  child.stdout?.destroy()
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
})

t.test("control sequences in a model's words are taken out, also when cut in two and also into a pipe", async (t) => {
  const server = await chatServer(t, streamOf('a\u001b]0;own', 'ed\u0007b\u001b', '[31mc', '\u009b2Jd'))
  const home = t.testdir()
  t.equal((await svc(['chat', 'x'], { home, site: server.origin, env })).stdout, 'abcd\n')
  t.equal((await svc(['chat', 'x'], { home, site: server.origin, env: { ...env, FORCE_COLOR: '1' } })).stdout, 'abcd\n')
  const lines = (await svc(['chat', 'x', '--json'], { home, site: server.origin, env })).stdout
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

t.test('Markdown is rendered where there are styles, and left alone with --raw or --no-color', async (t) => {
  const server = await chatServer(t, streamOf('# Ti', 'tle\nwith **bold**'))
  const home = t.testdir()
  const shown = async (words: string[], more: Record<string, string>) =>
    (await svc(['chat', 'x', ...words], { home, site: server.origin, env: { ...env, ...more } })).stdout
  t.equal(await shown([], { FORCE_COLOR: '1' }), '\u001b[1mTitle\u001b[22m\nwith \u001b[1mbold\u001b[22m\n')
  t.equal(await shown(['--raw'], { FORCE_COLOR: '1' }), '# Title\nwith **bold**\n')
  t.equal(await shown(['--no-color'], { FORCE_COLOR: '1' }), '# Title\nwith **bold**\n')
  t.equal(await shown([], {}), '# Title\nwith **bold**\n', 'a pipe')
})

t.test('a dialogue without a terminal is refused', async (t) => {
  const home = t.testdir()
  t.match(await svc(['chat', '-i'], { home, env }), { code: 2, stderr: /needs a terminal/ })
  t.match(await svc(['chat', '-i', '--json'], { home, env }), { code: 2 })
})
