/** What the plugins' README says is true: its table, and its example, which is run as it stands there. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import base from '../../gateway.config.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { AnyPlugin } from '../../src/exchange/plugin.ts'
import { startGateway, temporaryFolder } from '../support/gateway.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(join(root, 'plugins/README.md'), 'utf8')
const plugins = base.plugins as AnyPlugin[]

t.test('each plugin has its row, and the row is right', async (t) => {
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

t.test('file name, plugin name and test name are one word', async (t) => {
  const names = readdirSync(join(root, 'plugins'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
  const tests = new Set(readdirSync(join(root, 'test/plugins')))
  for (const name of names) {
    const module = (await import(pathToFileURL(join(root, `plugins/${name}.ts`)).href)) as Record<string, AnyPlugin>
    t.same(
      Object.values(module).map((plugin) => plugin.name),
      [name],
    )
    t.ok(tests.has(`${name}.test.ts`), `${name} has a test`)
  }
})

t.test('the example works as it stands in the README, in a second configuration that takes the shipped one', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'plugins'))
  const [plugin = '', config = ''] = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code ?? '')
  // Only the places differ: the example is saved outside of the checkout here.
  const moved = (code: string, kept: string) =>
    code.replaceAll(/from '(\.\.?\/[^']+)'/g, (whole, path: string) =>
      path === kept ? whole : `from '${pathToFileURL(join(root, path.replace(/^\.\.?\//, ''))).href}'`,
    )
  writeFileSync(join(folder, 'plugins/banned-words.ts'), moved(plugin, ''))
  writeFileSync(join(folder, 'school.config.ts'), moved(config, './plugins/banned-words.ts'))
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

  const { member, chat, turns } = await startGateway(t, { plugins: loaded.plugins })
  const { token } = await member()
  const good = await chat(token)
  t.equal(good.status, 200)
  t.equal(good.headers.get('x-words-checked'), '1')
  const bad = await chat(token, { messages: [{ role: 'user', content: 'Where is the Unobtainium?' }] })
  t.equal(bad.status, 400)
  t.match(await bad.json(), { code: 'content_filter', error: { param: 'messages' }, debug: { quotaRefunded: undefined } })
  t.equal((await turns()).length, 1, 'nothing was held for it')
  t.equal(
    (await chat(token, { messages: [{ role: 'user', name: 'unobtainium', content: [{ type: 'text', text: 'Hi' }] }] })).status,
    200,
  )
  const parts = [
    { type: 'text', text: 'Where is' },
    { type: 'text', text: 'the UNOBTAINIUM?' },
  ]
  t.equal((await chat(token, { messages: [{ role: 'user', content: parts }] })).status, 400)
  // Of a large one the text comes when it is asked for.
  const large = 'Much ado about it. '.repeat(20_000)
  for (const [content, status] of [
    [large, 200],
    [`${large} unobtainium`, 400],
  ] as const)
    t.equal((await chat(token, { messages: [{ role: 'user', content }] })).status, status)
})

t.test('the wrong place is refused with the sentence that the README promises', async (t) => {
  const { orderFaults } = await import('../../src/exchange/order.ts')
  const banned: AnyPlugin = { name: 'banned-words', needs: ['chat'], on: 'turn' }
  const [sentence = ''] = orderFaults([banned, ...plugins])
  t.ok(readme.replaceAll('\n', ' ').includes(sentence), sentence)
})
