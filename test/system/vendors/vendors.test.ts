/** Answers and failures of known vendors and model servers in their documented forms, read by the rules alone. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { GatewayError } from '../../../src/errors.ts'
import { UpstreamFailure } from '../../../src/exchange/upstream-failure.ts'
import type { FailureFacts } from '../../../src/exchange/upstream-failure.ts'
import { classifyFailure } from '../../../src/upstream/errors/classify-failure.ts'
import { toStatusFacts } from '../../../src/upstream/errors/failure-facts.ts'
import { readAggregated, readForwarded, readWhole } from './read-answer.ts'
import type { ReadAnswer } from './read-answer.ts'
import type { VendorFailure } from './vendor.ts'
import { vendors } from './vendors.ts'

const operatorsDocument = readFileSync(new URL('../../../docs/upstreams.md', import.meta.url), 'utf8')

for (const { name, sources, answers, failures } of vendors)
  t.test(`${name} is read as documented`, async (t) => {
    t.ok(sources.length > 0, 'a source is named')
    t.ok(operatorsDocument.includes(`\n| ${name} |  | by example, in full |`), 'docs/upstreams.md has a row')
    for (const answer of answers) {
      const { stream, whole, events, usage } = answer
      const reads: Readonly<Record<string, () => ReadAnswer>> = {
        forwarded: () => readForwarded(stream, usage),
        aggregated: () => readAggregated(stream, usage),
        whole: () => readWhole(whole, usage),
      }
      for (const [how, read] of Object.entries(reads)) {
        const found = read()
        t.same(found.events, events, `${answer.name}, ${how}`)
        t.same(found.usage, { ...usage, estimated: false }, `${answer.name}, ${how}: the charge`)
        const { inputTokens, outputTokens, cachedInputTokens } = usage
        t.match(
          found.told,
          {
            usage: {
              prompt_tokens: inputTokens,
              completion_tokens: outputTokens,
              total_tokens: inputTokens + outputTokens,
              ...(cachedInputTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
            },
          },
          `${answer.name}, ${how}: what the client is told`,
        )
      }
    }
    t.ok(failures.length >= 5, `${failures.length} failures`)
    for (const failure of failures) {
      const facts = findFacts(failure)
      t.equal(facts === null ? null : classifyFailure(facts).code, failure.code, failure.name)
    }
  })

/** Null if the answer passes as a success. */
function findFacts(failure: VendorFailure): FailureFacts | null {
  if ('status' in failure) {
    const { status, body, retryAfter } = failure
    const isText = typeof body === 'string'
    const headers = { 'content-type': isText ? 'text/plain' : 'application/json', 'retry-after': retryAfter }
    return toStatusFacts(status, headers, isText ? body : JSON.stringify(body))
  }
  const usage = { inputTokens: 1, outputTokens: 0 }
  try {
    if ('stream' in failure) readForwarded(failure.stream, usage)
    else readWhole(failure.whole, usage)
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.facts
    if (!(error instanceof GatewayError)) throw error
  }
  return null
}
