/** `svc search` and `svc image`: the output, the saved files, and refusals before a charge. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { findImageLinks } from '../../../../src/cli/service-commands/image.ts'
import type { Route } from '../../../support/cli/stub-gateway.ts'
import { sendError, sendJson, startStubGateway } from '../../../support/cli/stub-gateway.ts'
import { runSvc } from '../../../support/cli/run-svc.ts'

const env = { SVC_API_KEY: 'svc_live_x' }

t.test('search shows the answer and the numbered sources, and with --json the document', async (t) => {
  const document = {
    schema: 'svc.search.v1',
    id: 'srch_0123456789abcdef',
    query: 'node release',
    answer: 'Node 26 is out [1].\u001b[2J',
    results: [
      {
        index: 1,
        title: 'Release\nnotes',
        url: 'https://nodejs.org/',
        snippet: 'It is here.',
        published_at: '2026-04-20T00:00:00Z',
        source: 'nodejs.org',
        score: 1,
      },
    ],
    citations: [{ index: 1, url: 'https://nodejs.org/', title: 'Release notes' }],
    model: 'svc-2.1-search',
    created: 1,
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    warnings: ['one backend did not answer'],
  }
  const server = await startStubGateway({ 'POST /v1/mcp/tools/call': (_, response) => sendJson(response, document) })
  t.teardown(() => server.close())
  const home = t.testdir()
  const { stdout } = await runSvc(['search', 'node', 'release'], { home, site: server.origin, env })
  t.equal(
    stdout,
    'Node 26 is out [1].\n\n[1] Release notes (2026-04-20)\n    https://nodejs.org/\n    It is here.\nnote: one backend did not answer\n',
  )
  t.strictSame(server.requests[0]?.body, { name: 'web_search', arguments: { query: 'node release' } })
  t.strictSame(JSON.parse((await runSvc(['search', 'x', '--json'], { home, site: server.origin, env })).stdout), {
    ok: true,
    result: document,
  })
  server.routes['POST /v1/mcp/tools/call'] = (received, response) => sendError(response, received, 'quota_exceeded')
  const empty = await runSvc(['search', 'x'], { home, site: server.origin, env })
  t.equal(empty.code, 6)
  t.match(empty.stderr, 'svc boost')
})

const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.alloc(64, 7)])

async function imageServer(t: Test, picture: Route, links = 1) {
  const server = await startStubGateway({ 'GET /v1/images/a.png': picture, 'GET /v1/images/b.png': picture })
  t.teardown(() => server.close())
  server.routes['POST /v1/chat/completions'] = (_, response) => {
    const content = ['a', 'b']
      .slice(0, links)
      .map((name) => `![picture](${server.origin}/v1/images/${name}.png?exp=1&sig=x)`)
      .join('\n')
    sendJson(response, { model: 'svc-img', choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }] })
  }
  return server
}

const sendPng: Route = (_, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(png)

t.test('image saves the image byte for byte, and sends no credential to the link', async (t) => {
  const server = await imageServer(t, sendPng)
  const home = t.testdir()
  const ended = await runSvc(['image', 'a lighthouse', '-o', 'light.png'], { home, cwd: home, site: server.origin, env })
  t.equal(ended.stdout, 'Saved light.png\n')
  t.ok(readFileSync(join(home, 'light.png')).equals(png))
  t.match(server.requests[0]?.body, { model: 'svc-img', messages: [{ role: 'user', content: 'a lighthouse' }] })
  t.equal(server.requests[1]?.headers.authorization, undefined)
})

t.test('without --output a file is named by time and type, and several images get several files', async (t) => {
  const server = await imageServer(t, sendPng, 2)
  const home = t.testdir()
  const ended = await runSvc(['image', 'x', '--json'], { home, cwd: home, site: server.origin, env })
  const { files } = JSON.parse(ended.stdout).result
  t.match(files, [{ file: /^image-\d{14}\.png$/, bytes: png.length, type: 'image/png' }, { file: /^image-\d{14}-2\.png$/ }])
  t.equal(readdirSync(home).filter((name) => name.endsWith('.png')).length, 2)
})

t.test('refuses to replace an existing file before a turn is charged, and replaces it with --force', async (t) => {
  const server = await imageServer(t, sendPng)
  const home = t.testdir()
  writeFileSync(join(home, 'mine.png'), 'precious')
  const refused = await runSvc(['image', 'x', '-o', 'mine.png'], { home, cwd: home, site: server.origin, env })
  t.equal(refused.code, 1)
  t.match(refused.stderr, '--force')
  t.equal(server.requests.length, 0)
  t.equal(readFileSync(join(home, 'mine.png'), 'utf8'), 'precious')
  t.equal((await runSvc(['image', 'x', '-o', 'mine.png', '--force'], { home, cwd: home, site: server.origin, env })).code, 0)
  t.ok(readFileSync(join(home, 'mine.png')).equals(png))
})

t.test('a missing link or one without an image leaves no file', async (t) => {
  const home = t.testdir()
  for (const [name, route] of [
    ['gone', (_, response) => void response.writeHead(404).end()],
    ['a web page', (_, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('<html>')],
  ] as const satisfies readonly (readonly [string, Route])[]) {
    const server = await imageServer(t, route)
    const ended = await runSvc(['image', 'x', '-o', 'out.png'], { home, cwd: home, site: server.origin, env })
    t.equal(ended.code, 7, name)
    t.equal(existsSync(join(home, 'out.png')), false, name)
  }
  t.strictSame(readdirSync(home), [])
})

t.test('refuses an unwritable path before the request, and shows the link when saving fails afterwards', async (t) => {
  const home = t.testdir()
  execFileSync('mkfifo', [join(home, 'pipe')])
  const server = await imageServer(t, (_, response) => void response.writeHead(404).end())
  const ask = (...words: string[]) => runSvc(['image', 'x', ...words], { home, cwd: home, site: server.origin, env })
  for (const words of [
    ['-o', join(home, 'nowhere', 'cat.png')],
    ['-o', home, '--force'],
    ['-o', join(home, 'pipe'), '--force'],
  ]) {
    const refused = await ask(...words)
    t.equal(refused.code, 1)
    t.match(refused.stderr, /Cannot write/)
  }
  t.equal(server.requests.length, 0, 'nothing was asked for')
  const lost = await ask('-o', 'cat.png')
  t.match(lost.stderr, /the image stays available for some days: http/)
  t.match(JSON.parse((await ask('-o', 'cat.png', '--json')).stdout), { ok: false, error: { details: { links: [/^http/] } } })
})

t.test('fetches only web links of Markdown images, each once', async (t) => {
  t.strictSame(
    findImageLinks(
      '![a](https://x.example/1.png) ![](<http://x.example/2.png>) ![t](https://x.example/3.png "title") ![a](https://x.example/1.png)',
    ),
    ['https://x.example/1.png', 'http://x.example/2.png', 'https://x.example/3.png'],
  )
  t.strictSame(findImageLinks('![a](file:///etc/passwd) ![b](data:image/png;base64,AA) [c](https://x.example/4.png)'), [])
})
