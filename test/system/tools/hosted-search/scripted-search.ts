/** A gateway whose model requests searches, for the tests of hosted search: one server is the model and the search model. */
import type { Test } from 'tap'
import { startScriptedModel } from '../../clients/support/scripted-model.ts'
import type { ReceivedRequest, ScriptedAnswer, ScriptedModel } from '../../clients/support/scripted-model.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../support/gateway/test-gateway.ts'

export interface SearchingGateway {
  readonly gateway: TestGateway
  readonly model: ScriptedModel
  readonly account: string
  readonly token: string
  /** Requests that the search model received. */
  listSearches(): readonly ReceivedRequest[]
}

export const isSearch = ({ model }: ReceivedRequest): boolean => model === 'demo-search'

export const searchAnswer: ScriptedAnswer = {
  text: JSON.stringify({
    answer: 'The newest version is 3.99 [1].',
    results: [
      { title: 'SQLite', url: 'https://sqlite.org/news', snippet: 'Version 3.99 was released.', date: '2026-11-01' },
      { title: 'Other', url: 'https://other.example/page', snippet: 'Something else.' },
    ],
  }),
  usage: { prompt_tokens: 50, completion_tokens: 60 },
}

export const callSearch = (query: unknown, id = 'call_s'): NonNullable<ScriptedAnswer['calls']>[number] => ({
  id,
  name: 'web_search',
  arguments: JSON.stringify({ query }),
})

/** Searches once, then answers with a mark. `search` answers the search model. */
export const searchOnce =
  (search: (request: ReceivedRequest) => ScriptedAnswer = () => searchAnswer) =>
  (request: ReceivedRequest): ScriptedAnswer => {
    if (isSearch(request)) return search(request)
    if (request.messages.some(({ role }) => role === 'tool')) return { text: 'It is 3.99 [1].' }
    return { text: 'I search.', calls: [callSearch('sqlite version')] }
  }

export async function startSearchingGateway(
  t: Test,
  answer: (request: ReceivedRequest, before: number) => ScriptedAnswer,
  overrides: Overrides = {},
  plan?: string,
): Promise<SearchingGateway> {
  const model = await startScriptedModel(t, answer)
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } }, ...overrides })
  const { id: account, token } = await gateway.createMember(plan)
  return { gateway, model, account, token, listSearches: () => model.requests.filter(isSearch) }
}
