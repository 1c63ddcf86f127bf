/** The first minutes with the program: start, paste the curl line, stop, start again; and a real upstream by two variables. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import { createTemporaryFolder, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { startServerProcess } from '../../../support/processes/server-process.ts'

/** Packages that neither a turn nor a start needs; each is imported where it is used. */
const lazyPackages = ['pg', 'jose', 'openid-client', 'nodemailer', '@modelcontextprotocol/server']

/** A loader that reports each package that the program imports. */
function createImportTrace(t: Test): string {
  const hooks = join(createTemporaryFolder(t), 'hooks.mjs')
  writeFileSync(
    hooks,
    `import { registerHooks } from 'node:module'
    registerHooks({
      load(url, context, next) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]
        if (name !== undefined) process.stderr.write('imported ' + name + '\\n')
        return next(url, context)
      },
    })`,
  )
  return `--import=${hooks}`
}

t.test(
  'starts in an empty folder, prints a working curl line once, and imports nothing that the first turn does not need',
  async (t) => {
    const folder = createTemporaryFolder(t)
    const first = await startServerProcess(t, { DATA_DIR: folder })
    t.match(first.output(), /built-in demonstration answers/)
    const curl = first
      .output()
      .split('\n')
      .find((line) => line.trim().startsWith('curl '))
    t.ok(curl, 'a line to paste')
    const { stdout } = await promisify(execFile)('bash', ['-c', `${curl} -sS`])
    t.match(JSON.parse(stdout), { model: 'svc-2.1', choices: [{ message: { content: /gateway/i } }] })
    const key = /svc_live_\w+/.exec(first.output())?.[0] ?? ''
    t.notOk(first.log().includes(key), 'the key is on the screen, not in the log')
    t.equal(await first.terminate('SIGTERM'), 0)

    // The first start creates the tables, which takes longer.
    const second = await startServerProcess(t, { DATA_DIR: folder, NODE_OPTIONS: createImportTrace(t) })
    t.notMatch(second.output(), /svc_live_/)
    await waitUntil(() => second.log().includes('"msg":"listening"'), 'the log to say so')
    const [start = ''] = second.log().split('"msg":"listening"')
    const imported = new Set([...start.matchAll(/^imported (.+)$/gm)].map(([, name]) => name))
    t.ok(imported.has('koa') && imported.has('better-sqlite3'), [...imported].join(' '))
    for (const name of lazyPackages) t.notOk(imported.has(name), name)
    const answer = await fetch(`${second.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    t.equal(answer.status, 200, 'the first key still works')
    await answer.text()
    t.equal(await second.terminate('SIGTERM'), 0)
  },
)

t.test('connects a real upstream with two variables', async (t) => {
  const upstream = await startFakeUpstream({ key: 'sk-real' })
  t.teardown(() => upstream.close())
  const server = await startServerProcess(t, {
    DATA_DIR: createTemporaryFolder(t),
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_API_KEY: 'sk-real',
  })
  t.notMatch(server.output(), /demonstration/)
  const key = /svc_live_\w+/.exec(server.output())?.[0] ?? ''
  await waitUntil(() => upstream.calls.some(({ path }) => path === '/v1/models'), 'it to ask what models there are')
  await waitUntil(() => server.log().includes('demo-light'), 'it to have learned')
  const answer = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  t.equal(answer.status, 200)
  t.match(await answer.json(), { model: 'svc-2.1' })
  t.match(upstream.calls.at(-1), { model: 'demo-light', path: '/v1/chat/completions' })
  t.notOk(server.log().includes('sk-real'))
  t.equal(await server.terminate('SIGTERM'), 0)
})

t.test('refuses to start with one sentence where the configuration cannot work', async (t) => {
  for (const [environment, sentence] of [
    [{ PORT: 'eighty' }, /PORT must be a whole number/],
    [{ TRUSTED_PROXIES: 'everybody' }, /'everybody' is neither an address nor a CIDR/],
  ] as const) {
    const server = await startServerProcess(t, { DATA_DIR: createTemporaryFolder(t), ...environment })
    t.equal(server.child.exitCode, 1)
    t.match(server.log(), sentence)
    t.match(server.log(), /^svc-gateway cannot start:\n.*gateway\.config\.ts cannot work:\n {2}/)
    t.notMatch(server.log(), /\n\s+at /, 'no stack')
  }
})
