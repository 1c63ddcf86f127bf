import t from 'tap'
import { chooseModels, createClientSetup, createClientSetups, isClientId } from '../../../src/setup/client-setups.ts'
import { listModels } from '../../../src/setup/client-setup.ts'
import type { SetupFacts } from '../../../src/setup/client-setup.ts'

const product = (id: string, tier: string, ...capabilities: string[]) => ({
  id,
  name: id.toUpperCase(),
  tier,
  capabilities,
  contextLength: 128_000,
  maxOutputTokens: 32_768,
})
const products = [
  product('acme-fast', 'light', 'chat'),
  product('acme-2.1', 'flagship', 'chat', 'tools', 'vision'),
  product('acme-pro', 'flagship', 'chat', 'tools'),
  product('acme-img', 'flagship', 'image'),
]

function createFacts(): SetupFacts {
  const models = chooseModels(products)
  if (models === undefined) throw new Error('no product can chat')
  return { apiUrl: 'https://api.example.org', slug: 'acme', serviceName: 'Acme', key: 'acme_live_…', ...models }
}

t.test('the flagship product is for work, the light one for small tasks, and an image product for neither', async (t) => {
  const models = chooseModels(products)
  t.match(models, { main: { id: 'acme-2.1', images: true }, fast: { id: 'acme-fast', images: false } })
  t.same(
    listModels(createFacts()).map(({ id }) => id),
    ['acme-2.1', 'acme-fast', 'acme-pro'],
  )
  t.match(chooseModels(products, 'acme-pro'), { main: { id: 'acme-pro' }, fast: { id: 'acme-fast' } })
  t.equal(chooseModels(products, 'acme-img'), undefined)
  t.equal(chooseModels([]), undefined)
  const single = chooseModels([product('one', 'flagship', 'chat')])
  t.same([single?.main.id, single?.fast.id, single?.others], ['one', 'one', []])
})

t.test('every setup has the address, the product and the place of the key', async (t) => {
  for (const { id, files, fields, snippets, notes } of createClientSetups(createFacts())) {
    const all = [...files.map(({ text }) => text), ...fields.map(({ value }) => value), ...snippets.map(({ text }) => text)].join(
      '\n',
    )
    t.match(all, /https:\/\/api\.example\.org/, id)
    t.match(all, /acme_live_…/, id)
    if (id !== 'open-webui') t.match(all, /acme-2\.1/, id)
    t.notMatch(all, /undefined|\[object|svc/, id)
    for (const { en, zh } of notes) t.ok(en.endsWith('.') && zh.endsWith('。'), `${id}: ${en}`)
    for (const { text } of [...files, ...snippets]) t.match(text, /[^\n]\n$/, `${id} ends with one line feed`)
  }
})

t.test('a key is in a file only where the program cannot read it from elsewhere', async (t) => {
  const withKey = createClientSetups(createFacts()).filter(({ files }) => files.some(({ text }) => text.includes('acme_live_…')))
  t.same(
    withKey.map(({ id, files }) => [id, files.map(({ keyPath }) => keyPath)]),
    [
      ['claude', [['env', 'ANTHROPIC_AUTH_TOKEN']]],
      ['gemini', [['GEMINI_API_KEY'], undefined]],
      ['cline', [['providers', 'openai-compatible', 'settings', 'apiKey']]],
    ],
  )
})

t.test('Codex searches where the plan has a search product', async (t) => {
  const toText = (...more: typeof products) => {
    const models = chooseModels([...products, ...more])
    return createClientSetup('codex', { ...createFacts(), ...models }).files[0]?.text
  }
  t.match(toText(), /^web_search = "disabled"$/m)
  t.match(toText(product('acme-search', 'light', 'search')), /^web_search = "live"$/m)
})

t.test('the address of Claude Code has no /v1', async (t) => {
  const [file] = createClientSetup('claude', createFacts()).files
  t.match(JSON.parse(file?.text ?? ''), { env: { ANTHROPIC_BASE_URL: 'https://api.example.org' } })
})

t.test('an id is that of a client or none', async (t) => {
  t.ok(isClientId('codex'))
  for (const id of ['emacs', '', 'toString']) t.notOk(isClientId(id), id)
})
