/** The hosted web search in requests of both formats, and the citations of an answer. */
import t from 'tap'
import { GatewayError } from '../../../src/errors.ts'
import type { ApiFormat, JsonObject } from '../../../src/exchange/api-format/api-format.ts'
import type { SearchSource } from '../../../src/conversation/answer-event.ts'
import { messagesFormat } from '../../../src/formats/messages/messages-format.ts'
import { responsesFormat } from '../../../src/formats/responses/responses-format.ts'
import { findCitations } from '../../../src/codecs/shared/find-citations.ts'

const translateWith = (format: ApiFormat, base: JsonObject, hostsSearch: boolean) => (body: JsonObject) =>
  format.toChat({ model: 'svc-2.1', ...base, ...body }, { unseal: () => null, hostsSearch })

const messagesBase = { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
const toMessages = translateWith(messagesFormat as ApiFormat, messagesBase, true)
const toResponses = translateWith(responsesFormat as ApiFormat, { input: 'Hi' }, true)

const messagesTool = { type: 'web_search_20250305', name: 'web_search' }
const responsesTool = { type: 'web_search' }

function findRefusedField(translate: () => unknown): string | undefined {
  try {
    translate()
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error.details.param
    throw error
  }
}

const listFunctions = (chat: JsonObject): readonly string[] =>
  ((chat['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name)

const none = { allowedDomains: [], blockedDomains: [] }

t.test('gives the model a function for the search, with the options of the tool', (t) => {
  for (const [name, request, options] of [
    ['Messages', toMessages({ tools: [messagesTool] }), { maxUses: 5, ...none }],
    ['a newer version', toMessages({ tools: [{ ...messagesTool, type: 'web_search_20260209' }] }), { maxUses: 5, ...none }],
    ['fewer uses', toMessages({ tools: [{ ...messagesTool, max_uses: 2 }] }), { maxUses: 2, ...none }],
    ['more uses', toMessages({ tools: [{ ...messagesTool, max_uses: 800 }] }), { maxUses: 5, ...none }],
    [
      'domains',
      toMessages({ tools: [{ ...messagesTool, blocked_domains: ['WWW.Example.com', 'a.example/blog'] }] }),
      { maxUses: 5, allowedDomains: [], blockedDomains: ['example.com', 'a.example/blog'] },
    ],
    ['Responses', toResponses({ tools: [responsesTool] }), { maxUses: 5, ...none }],
    ['an earlier name', toResponses({ tools: [{ type: 'web_search_preview_2025_03_11' }] }), { maxUses: 5, ...none }],
    ['a limit', toResponses({ tools: [responsesTool], max_tool_calls: 1 }), { maxUses: 1, ...none }],
    [
      'filters',
      toResponses({ tools: [{ ...responsesTool, filters: { allowed_domains: ['example.com'] } }] }),
      { maxUses: 5, allowedDomains: ['example.com'], blockedDomains: [] },
    ],
  ] as const) {
    t.same(listFunctions(request.chat), ['web_search'], name)
    t.same(request.hostedSearch, options, name)
    t.same(request.ignored, [], name)
  }
  t.end()
})

t.test('keeps the search away from what the client did not mean', (t) => {
  const own = { name: 'web_search', input_schema: { type: 'object' } }
  const ownFunction = { type: 'function', name: 'web_search' }
  for (const [name, request, ignored] of [
    ['a function of this name', toMessages({ tools: [messagesTool, own] }), ['tools.web_search_20250305']],
    ['a function of this name, later', toResponses({ tools: [responsesTool, ownFunction] }), ['tools.web_search']],
    [
      'no access to the web',
      toResponses({
        tools: [
          { type: 'function', name: 'look' },
          { ...responsesTool, external_web_access: false },
        ],
      }),
      ['tools.web_search'],
    ],
    [
      'a member without search',
      translateWith(messagesFormat as ApiFormat, messagesBase, false)({ tools: [messagesTool, { name: 'look' }] }),
      ['tools.web_search_20250305'],
    ],
  ] as const) {
    t.equal(request.hostedSearch, undefined, name)
    t.same(request.ignored, ignored, name)
    t.equal(listFunctions(request.chat).length, 1, name)
  }
  t.end()
})

t.test('names the place of the user, which a search does not depend on', (t) => {
  const location = { user_location: { type: 'approximate', city: 'Bern' } }
  t.same(toMessages({ tools: [{ ...messagesTool, ...location }] }).ignored, ['tools.web_search_20250305.user_location'])
  t.same(toResponses({ tools: [{ ...responsesTool, ...location }] }).ignored, ['tools.web_search.user_location'])
  t.end()
})

t.test('translates a choice of the search', (t) => {
  const chosen = { type: 'function', function: { name: 'web_search' } }
  t.match(toMessages({ tools: [messagesTool], tool_choice: { type: 'tool', name: 'web_search' } }).chat['tool_choice'], chosen)
  t.match(toResponses({ tools: [responsesTool], tool_choice: { type: 'web_search_preview' } }).chat['tool_choice'], chosen)
  const tools = [responsesTool, { type: 'function', name: 'look' }, { type: 'function', name: 'write' }]
  const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }, { type: 'function', name: 'look' }] }
  t.same(listFunctions(toResponses({ tools, tool_choice: allowed }).chat), ['look', 'web_search'])
  t.end()
})

t.test('refuses invalid options with their path', (t) => {
  const withMessages = (fields: JsonObject) => () => toMessages({ tools: [{ ...messagesTool, ...fields }] })
  const withResponses = (fields: JsonObject) => () => toResponses({ tools: [{ ...responsesTool, ...fields }] })
  for (const [path, translate] of [
    ['tools[0].max_uses', withMessages({ max_uses: 0 })],
    ['tools[0].max_uses', withMessages({ max_uses: '3' })],
    ['tools[0].allowed_domains', withMessages({ allowed_domains: 'example.com' })],
    ['tools[0].allowed_domains', withMessages({ allowed_domains: Array.from({ length: 101 }, () => 'example.com') })],
    ['tools[0].allowed_domains[1]', withMessages({ allowed_domains: ['example.com', 'two words'] })],
    ['tools[0].allowed_domains[0]', withMessages({ allowed_domains: ['https://example.com'] })],
    ['tools[0].blocked_domains', withMessages({ allowed_domains: ['a.example'], blocked_domains: ['b.example'] })],
    ['tools[0].filters', withResponses({ filters: 'example.com' })],
    ['tools[0].filters.allowed_domains[0]', withResponses({ filters: { allowed_domains: [7] } })],
    ['max_tool_calls', () => toResponses({ tools: [responsesTool], max_tool_calls: 'many' })],
  ] as const)
    t.equal(findRefusedField(translate), path)
  t.end()
})

t.test('finds the sources that an answer names', (t) => {
  const toSource = (number: number, url: string): SearchSource => ({ number, url, title: '', snippet: '', publishedAt: null })
  const sources = [toSource(1, 'https://a.example/x'), toSource(2, 'https://b.example/'), toSource(12, 'https://c.example/y')]
  for (const [text, expected] of [
    ['One [1].', [[1, '[1]']]],
    [
      'Both [1, 2].',
      [
        [1, '[1, 2]'],
        [2, '[1, 2]'],
      ],
    ],
    [
      'Both [2][12].',
      [
        [2, '[2]'],
        [12, '[12]'],
      ],
    ],
    ['Unknown [3], and a link [1](https://other.example).', []],
    ['A link [here](https://a.example/x).', [[1, 'https://a.example/x']]],
    ['A longer address: https://a.example/xyz', []],
    ['🦉 [12]', [[12, '[12]']]],
    ['Nothing.', []],
  ] as const)
    t.same(
      findCitations(text, sources).map(({ source, start, end }) => [source.number, text.slice(start, end)]),
      expected,
      text,
    )
  t.same(findCitations('[1]', []), [])
  t.end()
})
