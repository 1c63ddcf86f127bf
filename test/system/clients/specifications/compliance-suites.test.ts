/** The compliance suites of llm-comply in full, unmodified: its own of Open Responses, and that of the Messages API. */
import t from 'tap'
import { runToEnd } from '../../../support/python/environment.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { startScriptedModel } from '../support/scripted-model.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-model.ts'
import { openSpecifications } from './specifications.ts'

interface SuiteCase {
  readonly id: string
  readonly status: 'passed' | 'failed' | 'skipped'
  readonly errors?: readonly string[]
  readonly warnings?: readonly string[]
}

interface Suite {
  readonly format: string
  /** An alias, because the suites choose cases by the name of the model. */
  readonly model: string
  readonly cases: number
  /** Violations that are the suite's own. */
  readonly ignored?: string
  /** What the suite advises and does not require. */
  readonly warnings: readonly string[]
}

const suites: readonly Suite[] = [
  {
    format: 'open-responses',
    model: 'gpt-5',
    cases: 13,
    // Its table has other names for two events than the specification that it contains (`response.reasoning_summary.delta`).
    ignored: 'unknown SSE event type: response.reasoning_summary_text.',
    // `POST /v1/responses/compact` does not exist.
    warnings: ['compact-response', 'compact-response', 'compact-response'],
  },
  { format: 'anthropic', model: 'claude-opus-4', cases: 9, warnings: [] },
]

function answer({ messages, tools = [] }: ReceivedRequest): ScriptedAnswer {
  const call = { id: 'call_a', name: 'get_weather', arguments: '{"location":"San Francisco"}' }
  const asks = JSON.stringify(messages.at(-1)?.content).includes('weather')
  return tools.length > 0 && asks ? { calls: [call] } : { reasoning: 'Hm.', text: 'Hello there, friend.' }
}

for (const { format, model, cases, ignored, warnings } of suites)
  t.test(`passes the suite ${format}`, async (t) => {
    const interpreter = await openSpecifications(t)
    if (interpreter === undefined) return
    const upstream = await startScriptedModel(t, answer)
    const gateway = await startGateway(t, {
      upstreams: { main: { baseUrl: upstream.url } },
      apiFormats: { responses: { aliases: { 'gpt-5': 'svc-2.1' } } },
    })
    const { token } = await gateway.createMember()
    const options = ['--json', '--format', format, '--base-url', `${gateway.url}/v1`, '--api-key', token, '--model', model]
    if (ignored !== undefined) options.push('--ignore', ignored)
    const printed = await runToEnd(interpreter, ['-m', 'llm_comply.cli', ...options], { okay: [0, 1] })
    const { results } = JSON.parse(printed.slice(printed.indexOf('{'))) as { readonly results: readonly SuiteCase[] }
    t.equal(results.length, cases)
    t.same(
      results.filter(({ status }) => status !== 'passed'),
      [],
    )
    t.same(
      results.flatMap(({ id, warnings: found = [] }) => found.map(() => id)),
      warnings,
    )
  })
