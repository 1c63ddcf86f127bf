/** The usage page: where the member stands, usage by day, the turns, and the first steps of a new account. */
import './site.ts'
import { callApi } from '../api-client.ts'
import type { Key } from '../api-types.ts'
import { showFirstSteps } from '../components/first-steps.ts'
import { loadCard } from '../components/request-state.ts'
import { renderStanding } from '../components/usage/standing.ts'
import { setUpTurnList } from '../components/usage/turn-list.ts'
import { renderUsageHistory } from '../components/usage/usage-chart.ts'
import { findElement } from '../page.ts'

const usage = callApi('get', '/api/membership/usage')
const keys: Promise<readonly Key[]> = callApi('get', '/api/membership/auth/api-keys').then(({ data }) => data)
const [range, grouping] = (['days', 'by'] as const).map((name) => findElement(`[data-choice=${name}]`, HTMLSelectElement))

void loadCard('standing', async () => renderStanding(await usage), loadStanding)
const turns = setUpTurnList(keys)
for (const choice of [range, grouping]) choice?.addEventListener('change', () => void showHistory())
void showHistory()
void Promise.all([usage, keys]).then(
  ([{ turns: latest }, list]) => {
    if (latest.length > 0) return
    showFirstSteps(list, async () => {
      await Promise.all([showHistory(), turns.refresh()])
      await loadCard('standing', loadStanding)
    })
  },
  () => undefined,
)

async function loadStanding(): Promise<Node[]> {
  return renderStanding(await callApi('get', '/api/membership/usage'))
}

function showHistory(): Promise<void> {
  return loadCard('history', async () => {
    const query = { days: toOption(range, ['7', '30', '90']), by: toOption(grouping, ['tier', 'model', 'key', 'api_format']) }
    return renderUsageHistory(await callApi('get', '/api/membership/usage/history', { query }))
  })
}

function toOption<Option extends string>(select: HTMLSelectElement | undefined, options: readonly Option[]): Option | undefined {
  return options.find((option) => option === select?.value)
}
