/** Checks the plugins' README: its table, and its example, which is run as written. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import base from '../../../gateway.config.ts'
import { loadConfig } from '../../../src/config/config.ts'
import type { AnyPlugin } from '../../../src/exchange/plugins/plugin.ts'
import { startGateway, createTemporaryFolder } from '../../support/gateway/test-gateway.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const readme = ['plugins/README.md', 'docs/plugins.md'].map((path) => readFileSync(join(root, path), 'utf8')).join('\n')
const plugins = base.plugins as AnyPlugin[]

t.test('lists each plugin correctly', async (t) => {
  const rows = new Map(
    readme
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
      .map(([, name = '', ...cells]) => [name, cells]),
  )
  const list = (items: readonly string[] | undefined) => (items === undefined || items.length === 0 ? '–' : items.join(', '))
  for (const plugin of plugins) {
    const hooks = Object.keys(plugin).filter((key) => key.startsWith('on') && key !== 'on')
    const on = plugin.on === 'turn' ? 'turns' : 'every exchange'
    t.same(rows.get(plugin.name)?.slice(0, 4), [list(hooks), list(plugin.needs), list(plugin.gives), on], plugin.name)
  }
})

t.test('names file, plugin and test with one word', async (t) => {
  const names = readdirSync(join(root, 'plugins'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
  const tests = new Set(['rules', 'system'].flatMap((part) => readdirSync(join(root, 'test', part, 'plugins'))))
  for (const name of names) {
    const module = (await import(pathToFileURL(join(root, `plugins/${name}.ts`)).href)) as Record<string, AnyPlugin>
    t.same(
      Object.values(module).map((plugin) => plugin.name),
      [name],
    )
    t.ok(tests.has(`${name}.test.ts`), `${name} has a test`)
  }
})

t.test('runs the example of the README in a configuration that imports the shipped one', async (t) => {
  const folder = createTemporaryFolder(t)
  const [plugin = '', config = ''] = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code ?? '')
  writeFileSync(join(folder, 'banned-words.ts'), plugin)
  writeFileSync(join(folder, 'school.config.ts'), config)
  const loaded = await loadConfig(join(folder, 'school.config.ts'))
  t.same(
    loaded.plugins.map(({ name }) => name),
    [
      'request-id',
      'auth',
      'rate-limit',
      'model-allowlist',
      'banned-words',
      'quota-reserve',
      'upstream-mapping',
      'error-envelope',
      'refund',
    ],
  )

  const { createMember, chat, listTurns } = await startGateway(t, { plugins: loaded.plugins })
  const { token } = await createMember()
  const good = await chat(token)
  t.equal(good.status, 200)
  t.equal(good.headers.get('x-words-checked'), '1')
  const bad = await chat(token, { messages: [{ role: 'user', content: 'Where is the Unobtainium?' }] })
  t.equal(bad.status, 400)
  t.match(await bad.json(), { code: 'content_filter', error: { param: 'messages' }, debug: { quotaRefunded: undefined } })
  t.equal((await listTurns()).length, 1, 'nothing was held for it')
  t.equal(
    (await chat(token, { messages: [{ role: 'user', name: 'unobtainium', content: [{ type: 'text', text: 'Hi' }] }] })).status,
    200,
  )
  const parts = [
    { type: 'text', text: 'Where is' },
    { type: 'text', text: 'the UNOBTAINIUM?' },
  ]
  t.equal((await chat(token, { messages: [{ role: 'user', content: parts }] })).status, 400)
  // The text of a large request is parsed on demand.
  const large = 'Much ado about it. '.repeat(20_000)
  for (const [content, status] of [
    [large, 200],
    [`${large} unobtainium`, 400],
  ] as const)
    t.equal((await chat(token, { messages: [{ role: 'user', content }] })).status, status)
})

t.test('refuses the wrong position with the sentence that the README states', async (t) => {
  const { findOrderErrors } = await import('../../../src/config/checks/plugin-order.ts')
  const banned: AnyPlugin = { name: 'banned-words', needs: ['chat'], on: 'turn' }
  const [sentence = ''] = findOrderErrors([banned, ...plugins])
  t.ok(readme.replaceAll('\n', ' ').includes(sentence), sentence)
})
