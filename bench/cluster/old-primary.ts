/**
 * A failover by hand after which the old primary is started again, under load on two nodes: counts turns that reach the old primary, and
 * turns that are lost. Prints a line of Markdown for each round; exits with 1 if there was one, or if the ledger does not add up.
 *
 *   node bench/cluster/old-primary.ts [--rounds 10] [--seconds 3]
 *
 * It needs Debian's postgresql, redis-server (or valkey) and haproxy.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { AccountSeeder } from '../../test/support/cluster/account-seeder.ts'
import { checkAccounting, LoadGenerator } from '../../test/support/cluster/cluster-load.ts'
import { startCluster } from '../../test/support/cluster/cluster.ts'
import { queryPrimary } from '../../test/support/servers/postgres/postgres.ts'
import { unlimitedConfig } from './faults.ts'
import { ProgramScope } from './program-scope.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, seconds: { type: 'string', default: '3' } },
})
const timeoutMs = 60_000
const clients = 8
let scope = new ProgramScope()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void scope.close().then(() => process.exit(1)))

async function waitUntil(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`)
    await pause(50)
  }
}

async function measureRound(t: ProgramScope, round: number): Promise<boolean> {
  const cluster = await startCluster(t, { nodes: 2, config: unlimitedConfig, withStandby: true })
  if (cluster?.standby == null) throw new Error('no cluster')
  const { postgres, standby, storeUrl, nodes, demo } = cluster
  demo.script(() => ({ tokens: 3, headMs: 20 }))
  const seeder = await AccountSeeder.open(t, storeUrl)
  const keys: string[] = []
  for (let nth = 0; nth < 4; nth += 1) keys.push((await seeder.createMember('max')).key.token)
  const { pathname } = new URL(storeUrl.replace(/,[^/]*/, ''))
  const query = (host: string) => (statement: string) => queryPrimary([`postgres://postgres@${host}${pathname}`], statement)
  const countOld = async () => Number((await query(postgres.host)('select count(*) as turns from turn'))[0]?.['turns'])

  const load = new LoadGenerator(t, cluster.url, keys, clients)
  const settled = () => load.requests.filter(({ outcome }) => outcome === 'settled').length
  await waitUntil(() => settled() >= 50, 'turns before the failover')
  await postgres.crash()
  await standby.promote()
  await postgres.startAsOldPrimary()
  const before = await countOld()
  const atReturn = settled()
  await pause(Number(values.seconds) * 1_000)
  await waitUntil(() => settled() >= atReturn + 50, 'turns after the failover')
  // A node that starts anew finds two hosts that accept writes.
  await nodes[0]?.stop()
  await nodes[0]?.start()
  const ready = await (await fetch(`${nodes[0]?.url}/readyz`)).text()
  await waitUntil(
    async () => (await (await fetch(`${nodes[0]?.url}/readyz`)).text()).includes('two hosts accept writes'),
    `the note of /readyz (${ready})`,
  )
  const requests = await load.stop()
  const onNew = query(standby.host)
  await waitUntil(
    async () => Number((await onNew(`select count(*) as held from turn where state = 'held'`))[0]?.['held']) === 0,
    'the holds to end',
  )
  const onOld = (await countOld()) - before
  const { acknowledged, lost, doubleCharged, minted } = await checkAccounting({ query: onNew, demo }, requests)
  const { mismatches, ok } = await seeder.store.ledger.verify()
  const failed = requests.filter(({ outcome }) => outcome !== 'settled').length
  process.stdout.write(
    `| ${round} | ${requests.length} | ${failed} | ${onOld} | ${acknowledged} | ${lost} | ${doubleCharged} | ${minted} | ${mismatches.length} |\n`,
  )
  return ok && onOld + lost + doubleCharged + minted === 0
}

process.stdout.write(
  '| Round | Turns | Refused or failed | On the old primary | Acknowledged | Lost | Double | Minted | Mismatches |\n|---|---|---|---|---|---|---|---|---|\n',
)
let isRight = true
for (let round = 1; round <= Number(values.rounds); round += 1) {
  scope = new ProgramScope()
  try {
    isRight = (await measureRound(scope, round)) && isRight
  } finally {
    await scope.close()
  }
}
if (!isRight) process.exitCode = 1
