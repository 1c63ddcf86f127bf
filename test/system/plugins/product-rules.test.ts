import t from 'tap'
import type { Test } from 'tap'
import { ConfigError } from '../../../src/config/config.ts'
import { startGateway, testConfig } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'

const rules = [
  { when: 'images' as const, use: 'svc-2.1-pro' },
  { when: 'long' as const, longerThanTokens: 1_000, use: 'svc-2.1-pro' },
]

async function servedBy(t: Test, gateway: TestGateway, token: string, content: unknown): Promise<string | null | undefined> {
  const response = await gateway.chat(token, { model: 'auto', messages: [{ role: 'user', content }] })
  t.equal(response.status, 200)
  t.equal(((await response.json()) as { model: string }).model, 'auto', 'the client sees the requested product')
  return gateway.demo.calls.at(-1)?.model
}

const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

t.test('serves auto by the light model unless a rule matches', async (t) => {
  const plain = await startGateway(t)
  const member = await plain.createMember()
  t.equal(await servedBy(t, plain, member.token, [{ type: 'text', text: 'What is this?' }]), 'demo-light', 'no rules')

  const gateway = await startGateway(t, { products: { auto: { rules } } })
  const { token, id } = await gateway.createMember()
  t.equal(await servedBy(t, gateway, token, 'Hello!'), 'demo-light')
  t.equal(await servedBy(t, gateway, token, [{ type: 'text', text: 'What is this?' }, picture]), 'demo-flagship', 'an image')
  t.equal(await servedBy(t, gateway, token, 'word '.repeat(1_000)), 'demo-flagship', 'a long conversation')

  await gateway.waitUntilSettled()
  const turns = await gateway.listTurns(id)
  t.ok(
    turns.every(({ model, pool }) => model === 'auto' && pool === 'fast'),
    'the price and the pool stay those of auto',
  )
})

t.test('accepts images only for a product with vision, by itself or by a rule', async (t) => {
  const content = [{ type: 'text', text: 'What is this?' }, picture]
  const capabilities = async ({ url }: TestGateway, token: string): Promise<readonly string[] | undefined> => {
    const response = await fetch(`${url}/v1/models/auto`, { headers: { authorization: `Bearer ${token}` } })
    return ((await response.json()) as { capabilities: string[] }).capabilities
  }
  const plain = await startGateway(t)
  const { token, id } = await plain.createMember()
  t.notOk((await capabilities(plain, token))?.includes('vision'))
  const refused = await plain.chat(token, { model: 'auto', messages: [{ role: 'user', content }] })
  t.equal(refused.status, 400)
  t.match(await refused.json(), {
    code: 'invalid_request',
    error: { param: 'messages' },
    message: /'auto' does not accept images\. These do: 'svc', 'svc-2\.1'/,
    messageZh: /不支持图片输入/,
    actions: ['switch_model'],
  })
  t.equal(plain.demo.calls.length, 0, 'the upstream was not called')
  t.same(await plain.listTurns(id), [], 'and nothing was held')

  const ruled = await startGateway(t, { products: { auto: { rules } } })
  const member = await ruled.createMember()
  t.ok((await capabilities(ruled, member.token))?.includes('vision'))
  t.equal(await servedBy(t, ruled, member.token, content), 'demo-flagship')
})

t.test('refuses to start with a rule that could not work', async (t) => {
  const faulty: readonly [object, RegExp][] = [
    [{ when: 'images', use: 'svc-3' }, /there is no product 'svc-3'/],
    [{ when: 'long', use: 'svc' }, /'long' needs longerThanTokens/],
    [{ when: 'images', use: 'svc-img' }, /'svc-img' is no chat product/],
  ]
  for (const [rule, sentence] of faulty)
    t.throws(() => testConfig(t, { products: { auto: { rules: [rule as never] } } }), sentence, String(sentence))
  t.throws(() => testConfig(t, { products: { auto: { rules: [faulty[0]![0] as never] } } }), ConfigError)
})
