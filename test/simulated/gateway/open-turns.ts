/** A simulated gateway for a test of turns, and how its turns ended. */
import type { Test } from 'tap'
import { SimulatedGateway } from './simulated-gateway.ts'
import type { SentTurn, SimulatedOptions } from './simulated-gateway.ts'
import type { Script } from './simulated-upstream.ts'

export const timeouts = {
  firstByteMs: 30_000,
  idleMs: 20_000,
  totalMs: 300_000,
  slowReaderMs: 60_000,
  heartbeatAfterMs: 10_000,
  heartbeatEveryMs: 15_000,
}
export const oneTarget = { products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } } }

/** `script`: what happens to every call, or to the call with this number. The ledger is verified at the end of the test. */
export async function openTurns(
  t: Test,
  script: Script | ((count: number) => Script),
  config: SimulatedOptions['config'] = oneTarget,
): Promise<{ readonly gateway: SimulatedGateway; readonly token: string }> {
  let count = 0
  const gateway = await SimulatedGateway.open({
    config: { timeouts, upstreams: { main: { restAfterFailures: 0 }, second: { restAfterFailures: 0 } }, ...config },
    onCall: () => (typeof script === 'function' ? script(count++) : script),
  })
  t.teardown(async () => {
    const mismatches = gateway.verify()
    await gateway.close()
    if (mismatches.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(mismatches)}`)
  })
  return { gateway, token: await gateway.createMember() }
}

/** How a turn ended, when, and what the ledger has of it. */
export function describeTurn(gateway: SimulatedGateway, turn: SentTurn): string {
  const { outcome, client, startedMs, endedMs } = turn
  if (outcome === undefined) return 'running'
  const state = gateway.readTurn(turn)
  const failure = outcome.kind === 'failed' ? ` ${outcome.failure.code}` : ''
  const received = client.hasWholeStream ? 'whole' : client.headersSent ? 'part' : String(client.status)
  return `${outcome.kind}${failure} after ${Math.round(endedMs - startedMs)} ms: ${received}, ${state?.state ?? 'no hold'}`
}
