import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import t from 'tap'
import type { Script } from '../../../src/upstream/demo/script.ts'
import { longest } from '../../../src/api/search-document.ts'
import { documentSchema } from '../../../src/tools/search/schema.ts'
import type { SearchDocument } from '../../../src/api/search-document.ts'
import { startGateway } from '../../support/gateway.ts'

const isPublished = new AjvJsonSchemaValidator().getValidator(documentSchema({ searchSchema: 'svc.search.v1' }, 'svc-2.1-search'))

function says(content: unknown, results: readonly unknown[], more: object = {}): Script {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  return { body: { object: 'chat.completion', model: 'x', choices, search_results: results, ...more } }
}

t.test('hostile results leave as plain, short text under addresses of the web, through every door', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.member()
  const good = { url: 'https://good.example/', title: 'Good', snippet: 'Fine.' }
  const script = says(
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
    t.ok(valid, errorMessage ?? 'it is what is published')
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
    t.ok(document.results[2]!.snippet.length <= longest.snippet)
  }
})

t.test('an answer of megabytes is cut, and a whole one is counted but not passed on', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.member()
  gateway.demo.script(() => says('word '.repeat(1_000_000), []))
  const response = await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'user', content: 'x' }] })
  t.equal(response.status, 200)
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
  t.ok((JSON.parse(choices[0]!.message.content) as SearchDocument).answer.length <= longest.answer)
})

t.test('an answer that is no JSON holds nobody up until that is known', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.member()
  gateway.demo.script(() => says(`{}${' '.repeat(120_000)}x`, []))
  const before = performance.eventLoopUtilization()
  const response = await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'user', content: 'x' }] })
  t.equal(response.status, 200)
  t.ok(performance.eventLoopUtilization(before).active < 1_500, 'it is read at once')
})

t.test('a report of more than a search can use is none, and leaves no debt', async (t) => {
  const gateway = await startGateway(t)
  const { token, id } = await gateway.member()
  gateway.demo.script(() => says('short', [], { usage: { prompt_tokens: 9_000_000, completion_tokens: 9_999_999 } }))
  await gateway.chat(token, { model: 'svc-2.1-search', messages: [{ role: 'user', content: 'x' }] })
  await gateway.settled()
  const [turn] = await gateway.turns(id)
  t.match(turn, { state: 'settled', estimated: true })
  t.ok(turn!.credits <= turn!.reserved, 'no more than was held')
})

t.test('an upstream that answers nonsense is an upstream error, refunded', async (t) => {
  const gateway = await startGateway(t, { limits: { answerBytes: 1_000_000 } })
  const { token, id } = await gateway.member()
  const nonsense: readonly [string, Script][] = [
    ['broken JSON', { body: '{"choices":[{"message":' }],
    ['a page', { html: true }],
    ['nothing', { empty: true }],
    ['no choices', { body: { choices: [] } }],
    ['no finish', { body: { choices: [{ index: 0, message: { content: 'x' } }] } }],
    ['an answer without words or results', says('  ', [])],
    ['results without an address', { ...says(null, []) }],
    ['an error in a success', { body: { error: { message: 'no', code: 500 } } }],
    ['a number', { body: '7' }],
    ['more than is read', says('x'.repeat(2_000_000), [])],
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
  await gateway.settled()
  t.ok((await gateway.turns(id)).every(({ state, credits }) => state === 'refunded' && credits === 0))
})
