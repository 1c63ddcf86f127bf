/** The table of endings in `ledger.md`. */
import { endingDescriptions, endingRules } from '../../src/upstream/call-ending.ts'
import type { EndingRule } from '../../src/upstream/call-ending.ts'

const tableMarker = /<!-- endings -->\n[^]*?<!-- end -->/

export function updateEndingTable(text: string): string {
  return text.replace(tableMarker, () => `<!-- endings -->\n${renderEndingTable()}\n<!-- end -->`)
}

const causes = {
  nothing: 'nothing',
  client: 'the client',
  request: 'the request',
  upstream: 'the upstream',
  time_limit: 'the time limit',
  gateway: 'the gateway',
} as const satisfies Record<EndingRule['causedBy'], string>

const receipts = {
  answer: 'the answer',
  cut_off: 'the answer, cut off',
  failure: 'an error',
  nothing: 'nothing: its connection is closed',
} as const satisfies Record<EndingRule['clientReceives'], string>

function renderEndingTable(): string {
  const rows = endingRules.map((rule) => {
    const { kind, causedBy, credits, countsAgainstTarget, clientReceives } = rule
    const counts = countsAgainstTarget === 'by_status' ? 'by its status' : countsAgainstTarget ? 'yes' : 'no'
    const cells = [
      endingDescriptions[kind],
      describeForwarded(rule),
      describeSituation(rule),
      causes[causedBy],
      credits,
      counts,
      receipts[clientReceives],
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [
    '| Ending | Output forwarded | While | Caused by | Credits | Counts against the target | The client receives |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function describeForwarded({ isForwarded }: EndingRule): string {
  return isForwarded === undefined ? 'any' : isForwarded ? 'some' : 'none'
}

function describeSituation({ isClientSlow, isUpstreamSilent }: EndingRule): string {
  if (isClientSlow === true) return 'the client is slow'
  return isUpstreamSilent === true ? 'the upstream is silent' : ''
}
