/** Starts the measured servers, one on SQLite or two on PostgreSQL, and creates accounts in their database. */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { hashPassword } from '../../../src/domain/identity/passwords/password.ts'
import type { Store } from '../../../src/domain/store.ts'
import { createApiKey } from '../../../src/domain/services/api-key-service.ts'
import { deriveNames } from '../../../src/exchange/brand-names.ts'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import { openSqliteStore } from '../../../src/store/sqlite/open.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds } from '../../../src/system/ids.ts'
import { createSelfSignedCertificate } from '../../../test/support/servers/tls-certificate.ts'
import { startPostgresServer } from '../../../test/support/servers/postgres/postgres.ts'
import { createTemporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { TestScope } from '../../../test/support/test-scope.ts'
import { startGateway } from '../../support/processes.ts'
import type { GatewayProgram } from '../../support/processes.ts'

export interface NodeOptions {
  readonly upstream: string
  readonly workers: string
  readonly isHttp2: boolean
  readonly isPostgres: boolean
  readonly hasShippedLimits: boolean
}

export interface Member {
  readonly email: string
  readonly key: string
}

export interface MeasuredNode extends GatewayProgram {
  /** Starts or stops the probe of its serving threads; returns the longest CPU time of a round of the event loop meanwhile, in ms. */
  toggleProbe(): Promise<number>
}

export interface MeasuredNodes {
  readonly nodes: readonly MeasuredNode[]
  /** All of them have the same password. */
  createMembers(plan: string, count: number): Promise<readonly Member[]>
}

export const memberPassword = 'a long password of members'

export async function startNodes(t: TestScope, options: NodeOptions): Promise<MeasuredNodes> {
  const folder = createTemporaryFolder(t)
  const postgres = options.isPostgres ? await startPostgresServer(t, async () => {}, { durable: true }) : undefined
  const storeUrl = (await postgres?.createDatabase(t, { empty: true })) ?? null
  const tls = options.isHttp2 ? createSelfSignedCertificate(folder) : null
  const nodes: MeasuredNode[] = []
  for (let nth = 0; nth < (storeUrl === null ? 1 : 2); nth++) {
    const probeFile = join(folder, `rounds-${nth}`)
    const node = await startGateway(options.upstream, {
      config: 'neighbors/hostile-members/gateway.config.ts',
      flags: ['--import', fileURLToPath(new URL('../../support/stall-probe.ts', import.meta.url))],
      joinsCluster: nth > 0,
      env: {
        ROUNDS_FILE: probeFile,
        WORKERS: options.workers,
        TRUSTED_PROXIES: '127.0.0.1',
        ...(options.hasShippedLimits ? { SHIPPED_LIMITS: 'yes' } : {}),
        ...(tls === null ? {} : { TLS_CERT: tls.cert, TLS_KEY: tls.key }),
        ...(storeUrl === null ? {} : { STORE_URL: storeUrl, SMTP_URL: 'smtp://127.0.0.1:9' }),
      },
    })
    t.teardown(() => node.stop())
    nodes.push({ ...node, toggleProbe: () => toggleProbe(node.pid, probeFile) })
  }
  const store = await openMeasuredStore(storeUrl, nodes[0]?.database ?? '')
  t.teardown(() => store.close())
  return { nodes, createMembers: (plan, count) => createMembers(store, plan, count) }
}

function openMeasuredStore(url: string | null, file: string): Promise<Store> | Store {
  const clock = systemClock
  return url === null
    ? openSqliteStore({ file, process: { id: randomUUID(), pid: process.pid }, clock, allowCreate: false })
    : openPostgresStore({ url, process: { id: randomUUID(), version: 'bench' }, clock, role: 'command', ledger: openLedger })
}

async function createMembers(store: Store, plan: string, count: number): Promise<readonly Member[]> {
  const ids = createIds()
  const keys = { prefix: deriveNames('svc').keyPrefix, perAccount: 1 }
  const passwordHash = await hashPassword(memberPassword)
  const members: Member[] = []
  for (let nth = 0; nth < count; nth++) {
    const at = Date.now()
    const id = ids.next('acc_', at)
    const email = `${id.slice(-12).toLowerCase()}@example.com`
    await store.accounts.create({ id, email, plan, passwordHash, emailVerified: true, at })
    const minted = await createApiKey({ store, ids, clock: systemClock, keys }, id, 'benchmark', null)
    members.push({ email, key: minted?.token ?? '' })
  }
  return members
}

async function toggleProbe(pid: number, probeFile: string): Promise<number> {
  rmSync(probeFile, { force: true })
  process.kill(pid, 'SIGUSR2')
  while (!existsSync(probeFile) || readFileSync(probeFile, 'utf8') === '') await pause(2)
  return Number(readFileSync(probeFile, 'utf8'))
}
