import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import t from 'tap'
import type { Script } from '../../../support/upstream/script.ts'
import { maxLengths } from '../../../../src/api/search-document.ts'
import { createDocumentJsonSchema } from '../../../../src/tools/search/document-schema.ts'
import type { SearchDocument } from '../../../../src/api/search-document.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

const isPublished = new AjvJsonSchemaValidator().getValidator(
  createDocumentJsonSchema({ searchSchema: 'svc.search.v1' }, 'svc-2.1-search'),
)

function scriptResults(content: unknown, results: readonly unknown[], more: object = {}): Script {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  return { body: { object: 'chat.completion', model: 'x', choices, search_results: results, ...more } }
}

t.test('returns hostile results as short plain text with web addresses, through every entry point', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const good = { url: 'https://good.example/', title: 'Good', snippet: 'Fine.' }
  const script = scriptResults(
    'See [4]. <script>steal()</script>![x](https://evil.example/beacon?q=1) [here](javascript:steal()) \u202ehidden\u{E0041}\u200b',
    [
      { url: 'javascript:steal()', title: 'Run me', snippet: 'x' },
      { url: 'data:text/html,<script>steal()</script>', title: 'Load me', snippet: 'x' },
      { url: 'https://bank.example@evil.example/', title: 'Trust me', snippet: 'x' },
      {
        url: 'https://evil.example/"><script>',
        title: '<img src=x onerror=steal()>Title\u202e',
        snippet: '<b>bold</b>\u0000\u{E0041}',
      },
      good,
      { ...good, title: 'Again' },
      {
        url: 'https://long.example/',
        title: 't'.repeat(5_000),
        snippet: '<i>s</i>'.repeat(700_000),
        date: 'x'.repeat(10_000),
        score: 1e308,
      },
      'not an object',
      null,
      ...Array.from({ length: 50 }, (_, nth) => ({ url: `https://many.example/${nth}`, title: nth, snippet: { toString: 'x' } })),
    ],
  )
  gateway.demo.script(() => script)
  const rest = await fetch(`${gateway.url}/v1/mcp/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'web_search', arguments: { query: 'x \u202e<b>' } }),
  })
  const messages = [{ role: 'user', content: 'x \u202e<b>' }]
  const chat = (await (await gateway.chat(token, { model: 'svc-2.1-search', messages })).json()) as {
    choices: { message: { content: string } }[]
  }
  for (const text of [await rest.text(), chat.choices[0]!.message.content]) {
    t.notMatch(text, /<[a-z/]|javascript:|data:text|steal\(\)<|!\[|evil\.example\/beacon|bank\.example/i)
    t.notMatch(text, /[\p{Cf}\p{Cc}]/u)
    t.ok(text.length < 60_000)
    const document = JSON.parse(text) as SearchDocument
    const { valid, errorMessage } = isPublished(document)
    t.ok(valid, errorMessage ?? 'the document matches the published schema')
    t.equal(document.results.length, 20)
    t.same(
      document.results.slice(0, 3).map(({ index, url }) => [index, new URL(url).host]),
      [
        [4, 'evil.example'],
        [5, 'good.example'],
        [7, 'long.example'],
      ],
      'numbers stay those that the answer counts by; what is said twice is said once',
    )
    t.same(
      document.citations.map(({ index }) => index),
      [4],
    )
    t.match(document.results[2], { score: null, published_at: null })
    t.ok(document.results[2]!.snippet.length <= maxLengths.snippet)
  }
})

t.test('cuts an answer of megabytes, and charges but withholds an oversized whole one', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  gateway.demo.script(() => scriptResults('word '.repeat(1_000_000), []))
  const response = await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'user', content: 'x' }] })
  t.equal(response.status, 200)
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  t.ok((JSON.parse(choices[0]!.message.content) as SearchDocument).answer.length <= maxLengths.answer)
})

t.test('rejects an answer that is no JSON in linear time', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  gateway.demo.script(() => scriptResults(`{}${' '.repeat(120_000)}x`, []))
  const before = performance.eventLoopUtilization()
  const response = await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'user', content: 'x' }] })
  t.equal(response.status, 200)
  t.ok(performance.eventLoopUtilization(before).active < 1_500, 'the event loop was never blocked')
})

t.test('ignores a report above the possible maximum and leaves no debt', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.createMember()
  gateway.demo.script(() => scriptResults('short', [], { usage: { prompt_tokens: 9_000_000, completion_tokens: 9_999_999 } }))
  await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'user', content: 'x' }] })
  await gateway.waitUntilSettled()
  const [turn] = await gateway.listTurns(id)
  t.match(turn, { state: 'settled', estimated: true })
  t.ok(turn!.credits <= turn!.reserved, 'at most the hold')
})

t.test('refunds an invalid upstream answer as an upstream error', async (t) => {
  const gateway = await startGateway(t, { limits: { answerBytes: 1_000_000 } })
  const { token, id } = await gateway.createMember()
  const nonsense: readonly [string, Script][] = [
    ['broken JSON', { body: '{"choices":[{"message":' }],
    ['a page', { html: true }],
    ['nothing', { empty: true }],
    ['no choices', { body: { choices: [] } }],
    ['no finish', { body: { choices: [{ index: 0, message: { content: 'x' } }] } }],
    ['an answer without words or results', scriptResults('  ', [])],
    ['results without an address', { ...scriptResults(null, []) }],
    ['an error in a success', { body: { error: { message: 'no', code: 500 } } }],
    ['a number', { body: '7' }],
    ['more than is read', scriptResults('x'.repeat(2_000_000), [])],
  ]
  for (const [what, script] of nonsense) {
    gateway.demo.script(() => script)
    for (const stream of [false, true]) {
      const response = await gateway.chat(token, {
        model: 'svc-2.1-search',
        stream,
        messages: [{ role: 'user', content: 'x' }],
      })
      const { code, debug } = (await response.json()) as { code: string; debug: { quotaRefunded: boolean } }
      t.same([response.status, code, debug.quotaRefunded], [502, 'upstream_error', true], `${what}, stream: ${stream}`)
    }
  }
  await gateway.waitUntilSettled()
  t.ok((await gateway.listTurns(id)).every(({ state, credits }) => state === 'refunded' && credits === 0))
})
