/** Prints yesterday's usage by account as CSV; a day begins at midnight UTC. */
import { callOperatorApi } from './operator-client.ts'

const dayMs = 86_400_000
const today = new Date().setUTCHours(0, 0, 0, 0)
const query = new URLSearchParams({
  by: 'account',
  from: new Date(today - dayMs).toISOString(),
  to: new Date(today).toISOString(),
})
const response = await callOperatorApi('GET', `reports/usage.csv?${query}`)
process.stdout.write(await response.text())
