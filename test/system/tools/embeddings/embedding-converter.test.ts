/** Long answers of embedding upstreams are converted in a thread of their own. */
import t from 'tap'
import { convertEmbeddings } from '../../../../src/tools/embeddings/convert-embeddings.ts'
import type { GatewayError } from '../../../../src/errors.ts'
import { EmbeddingConverter } from '../../../../src/tools/embeddings/embedding-converter.ts'
import { waitUntil } from '../../../support/wait-until.ts'

function createAnswer(count: number, dimensions: number): string {
  const data = Array.from({ length: count }, (_, index) => ({
    index,
    embedding: Array.from({ length: dimensions }, (_, at) => ((index * 31 + at) % 64) / 64),
  }))
  return JSON.stringify({ data, usage: { prompt_tokens: count } })
}

async function convert(converter: EmbeddingConverter, text: string, encoding: 'float' | 'base64' = 'float', count = 2) {
  const reply = await converter.convert([Buffer.from(text)], 'acc_1', { count, encoding })
  if (reply.kind === 'failed') return reply.reason
  const { bytes, length } = reply
  return JSON.parse(`${Buffer.from(bytes.buffer, 0, length).toString()}}`) as { data: { embedding: unknown }[] }
}

t.test('converts in a thread what the same function converts here, and leaves room for the end', async (t) => {
  const converter = new EmbeddingConverter()
  t.teardown(() => converter.close())
  const text = createAnswer(300, 200)
  for (const encoding of ['float', 'base64'] as const) {
    const options = { count: 300, encoding }
    const reply = await converter.convert([Buffer.from(text)], 'acc_1', options)
    const here = convertEmbeddings(JSON.parse(text) as Record<string, unknown>, options)
    if (reply.kind === 'failed' || here.kind === 'failed') return t.fail('it is an answer')
    t.equal(Buffer.from(reply.bytes.buffer, 0, reply.length).toString(), here.text)
    t.same(reply.usage, here.usage)
    t.ok(reply.bytes.length - reply.length >= 1_000)
  }
})

t.test('fails for what is no list of vectors', async (t) => {
  const converter = new EmbeddingConverter()
  t.teardown(() => converter.close())
  t.equal(await convert(converter, '{"data":'), 'not_json')
  t.equal(await convert(converter, '[]'), 'not_json')
  t.equal(await convert(converter, '{"error":{"message":"no"}}'), 'error_object')
  t.equal(await convert(converter, createAnswer(1, 4)), 'empty')
  t.equal(await convert(converter, '{"data":[{"index":0,"embedding":"AAA="},{"index":1,"embedding":[1]}]}'), 'empty')
})

t.test('passes base64 through where the upstream sends it', async (t) => {
  const converter = new EmbeddingConverter()
  t.teardown(() => converter.close())
  const bytes = Buffer.alloc(8)
  bytes.writeFloatLE(0.5, 0)
  const base64 = bytes.toString('base64')
  const text = JSON.stringify({ data: [{ embedding: base64 }, { embedding: [0.5, 0] }] })
  t.match(await convert(converter, text, 'base64'), { data: [{ embedding: base64 }, { embedding: base64 }] })
  t.match(await convert(converter, text), { data: [{ embedding: [0.5, 0] }, { embedding: [0.5, 0] }] })
})

t.test('fails the conversion of a thread that hangs, and serves the next one with another thread', async (t) => {
  const threadUrl = new URL('data:text/javascript,' + encodeURIComponent('setInterval(() => {}, 1000)'))
  const converter = new EmbeddingConverter({ timeoutMs: 1, threadUrl })
  t.teardown(() => converter.close())
  await t.rejects(convert(converter, createAnswer(2, 4)), { code: 'internal_error' })
  await t.rejects(convert(converter, createAnswer(2, 4)), { code: 'internal_error' })
})

t.test('fails an answer that needs more than the heap of the thread as too large', async (t) => {
  const program = `import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => { const lists = []; for (;;) lists.push(Array.from({ length: 1e5 }, Math.random)) })`
  const converter = new EmbeddingConverter({ threadUrl: new URL('data:text/javascript,' + encodeURIComponent(program)) })
  t.teardown(() => converter.close())
  t.equal(await convert(converter, createAnswer(2, 4)), 'too_large')
})

t.test('rejects what waits when it is closed', async (t) => {
  const converter = new EmbeddingConverter()
  const pending = [convert(converter, createAnswer(2, 4)), convert(converter, createAnswer(2, 4))]
  const settled = Promise.allSettled(pending)
  await converter.close()
  t.same(
    (await settled).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await t.rejects(convert(converter, createAnswer(2, 4)), { code: 'temporarily_unavailable' })
})

t.test('refuses an answer of the account with the most where more than 128 MB wait', async (t) => {
  const threadUrl = new URL('data:text/javascript,' + encodeURIComponent('setInterval(() => {}, 1000)'))
  const converter = new EmbeddingConverter({ threadUrl })
  const refused: string[] = []
  const wait = (name: string, account: string): void => {
    // Memory of the system that is never written.
    const answer = [new Uint8Array(32 * 1024 * 1024)]
    void converter
      .convert(answer, account, { count: 2, encoding: 'float' })
      .catch(({ code, details }: GatewayError) => refused.push(`${name} ${code} ${details.retryAfter}`))
  }
  wait('running', 'acc_1')
  for (const nth of [1, 2, 3]) wait(`${nth}`, 'acc_1')
  wait('4', 'acc_2')
  await Promise.resolve()
  t.same(refused, [], '128 MB wait')
  wait('5', 'acc_1')
  await waitUntil(() => refused.length === 1, 'a refusal')
  wait('6', 'acc_3')
  await waitUntil(() => refused.length === 2, 'another refusal')
  t.same(refused, ['5 temporarily_unavailable 1', '3 temporarily_unavailable 1'])
  await converter.close()
})
