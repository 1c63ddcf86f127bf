/** Long answers of embedding upstreams, which are never parsed as a whole. */
import t from 'tap'
import { convertEmbeddings } from '../../../../src/tools/embeddings/convert-embeddings.ts'
import { convertLongAnswer } from '../../../../src/tools/embeddings/long-embedding-answer.ts'

const toAnswer = (text: string): Buffer<ArrayBuffer> => {
  const bytes = Buffer.from(text)
  return Buffer.from(new Uint8Array(bytes).buffer)
}

function toList(text: string, { count = 2, encoding = 'float' as 'float' | 'base64' } = {}): unknown {
  const converted = convertLongAnswer(toAnswer(text), { count, encoding })
  if (converted.kind === 'failed') return converted.reason
  const { bytes, length } = converted
  return JSON.parse(`${Buffer.from(bytes.buffer, 0, length).toString()}}`)
}

function encode(...numbers: readonly number[]): string {
  return Buffer.from(Float32Array.from(numbers).buffer).toString('base64')
}

const vectors = { short: [0.5, -2, 1e-7], long: Array.from({ length: 500 }, (_, index) => Math.fround(Math.sin(index))) }

t.test('equals what a short answer becomes, in each encoding and layout', async (t) => {
  const [short, long] = [vectors.short, vectors.long]
  for (const [name, data] of Object.entries({
    numbers: [{ embedding: short }, { embedding: long }],
    'out of order': [
      { index: 1, embedding: short },
      { index: 0, embedding: long },
    ],
    base64: [{ embedding: encode(...short) }, { embedding: encode(...long) }],
    'a field with brackets, quotes and a backslash before the vector': [
      { note: '[1, "\\', embedding: short },
      { note: ['[', [1, [2]]], embedding: long },
    ],
    'a field with a long name': [{ ['n'.repeat(300)]: [1], embedding: short }, { embedding: long }],
  }))
    for (const encoding of ['float', 'base64'] as const)
      for (const indent of [0, 2]) {
        const document = { data, usage: { prompt_tokens: 3 } }
        const expected = convertEmbeddings(document, { count: 2, encoding })
        if (expected.kind === 'failed') return t.fail('it is an answer')
        t.same(
          toList(JSON.stringify(document, null, indent), { encoding }),
          JSON.parse(`${expected.text}}`),
          `${name}, ${encoding}`,
        )
      }
})

t.test('reads base64 with escaped slashes', async (t) => {
  const sent = encode(...vectors.long).replaceAll('/', '\\/')
  t.match(toList(`{"data":[{"embedding":"${sent}"}]}`, { count: 1, encoding: 'base64' }), {
    data: [{ embedding: encode(...vectors.long) }],
  })
})

t.test('fails for what is no list of finite numbers', async (t) => {
  for (const [vector, reason] of [
    ['[1,]', 'empty'],
    ['[1,"a"]', 'empty'],
    ['[1,[2]]', 'empty'],
    ['[1e999]', 'empty'],
    ['[]', 'empty'],
    ['[01]', 'empty'],
    ['[1, 2', 'not_json'],
    ['"AAA="', 'empty'],
    [JSON.stringify('A'.repeat(1_001)), 'empty'],
    ['{"$vector":7}', 'empty'],
    ['{"$vector":"length"}', 'empty'],
    ['null', 'empty'],
  ] as const)
    t.equal(toList(`{"data":[{"embedding":${vector}}]}`, { count: 1 }), reason, vector)
  t.equal(toList('{"error":{"message":"no"},"data":[]}'), 'error_object')
  t.equal(toList(`{"error":"${'no '.repeat(200)}"}`), 'error_object')
})

t.test('fails for a vector, or anything else, that is too long to be parsed', async (t) => {
  const numbers = `[${'0,'.repeat(600_000)}0]`
  t.equal(toList(`{"data":[{"embedding":${numbers}}]}`, { count: 1 }), 'too_large')
  t.equal(toList(`{"data":[],"other":[${'{},'.repeat(400_000)}{}]}`), 'too_large')
  t.equal(toList(`{"data":[],"other":${'[1],'.repeat(400_000)}`), 'too_large')
  t.equal(toList(`[${' '.repeat(2_000_000)}`), 'too_large')
})

t.test('frees the answer', async (t) => {
  for (const text of ['{"data":[{"embedding":[1]}]}', '{"data":']) {
    const answer = toAnswer(text)
    const { buffer } = answer
    convertLongAnswer(answer, { count: 1, encoding: 'float' })
    t.ok(buffer.detached)
  }
})
