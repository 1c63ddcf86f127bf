/**
 * Several servers on one PostgreSQL and one Valkey, behind a balancer, each a process of this machine: the setup of `deploy/`. Nodes can be
 * killed, stopped, started and disconnected; the database can crash, and lose its primary to a standby.
 */
import { join } from 'node:path'
import type { FakeUpstream } from '../upstream/server.ts'
import { startFakeUpstream } from '../upstream/server.ts'
import type { LoadBalancer } from '../servers/load-balancer.ts'
import { startLoadBalancer } from '../servers/load-balancer.ts'
import { FaultProxy } from '../servers/fault-proxy.ts'
import { findFreePort } from '../free-port.ts'
import type { NextVersion } from '../processes/next-version.ts'
import type { TestPostgresServer, TestStandby } from '../servers/postgres/postgres.ts'
import { startPostgresServer, queryPrimary } from '../servers/postgres/postgres.ts'
import type { TestScope } from '../test-scope.ts'
import type { ServerProcess } from '../processes/server-process.ts'
import { writeTestConfig, startServerProcess } from '../processes/server-process.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { TestValkey } from '../servers/valkey.ts'
import { startValkey } from '../servers/valkey.ts'

export interface ClusterOptions {
  /** Number of nodes, three at most. */
  readonly nodes?: number
  /** The nodes' configuration: an expression over `base`, the shipped one. */
  readonly config?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Adds a database server that follows the first one synchronously. */
  readonly withStandby?: boolean
  /** An upstream other than the one in this process. */
  readonly upstream?: string
  /** The folder of the database's files; default in memory, if there is room. */
  readonly databaseFolder?: string
}

export interface Cluster {
  /** The balancer's address. */
  readonly url: string
  readonly balancer: LoadBalancer
  readonly nodes: readonly ClusterNode[]
  readonly postgres: TestPostgresServer
  readonly standby: TestStandby | null
  readonly valkey: TestValkey
  readonly demo: FakeUpstream
  /** Writes directly to the database, as an operator's command does. */
  readonly storeUrl: string
  /** The first account's key, as a node printed it. */
  readonly key: string
  /** Queries the database, on the server that takes writes. */
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export class ClusterNode {
  readonly url: string
  readonly #scope: TestScope
  readonly #environment: Readonly<Record<string, string>>
  /** Its connections to each database server. */
  readonly databaseProxies: readonly FaultProxy[]
  #server: ServerProcess | undefined

  constructor(t: TestScope, port: number, environment: Readonly<Record<string, string>>, ways: readonly FaultProxy[]) {
    this.#scope = t
    this.url = `http://127.0.0.1:${port}`
    this.databaseProxies = ways
    this.#environment = { ...environment, PORT: String(port) }
  }

  /** `as`: a version other than this one. */
  async start(version?: NextVersion): Promise<void> {
    const own = version === undefined ? {} : { GATEWAY_CONFIG: version.config }
    const server = await startServerProcess(this.#scope, { ...this.#environment, ...own }, [], version?.root)
    if (server.url === '') throw new Error(`a node did not start: ${server.output()}${server.log()}`)
    this.#server = server
  }

  get running(): ServerProcess {
    if (this.#server === undefined) throw new Error('this node does not run')
    return this.#server
  }

  /** Ends it like a rolling restart: it finishes its turns first. */
  stop(): Promise<number | null> {
    return this.running.terminate('SIGTERM')
  }

  kill(): Promise<number | null> {
    return this.running.terminate('SIGKILL')
  }

  /** Drops all traffic between it and the database without closing connections. */
  cutDatabase(isCut = true): void {
    for (const proxy of this.databaseProxies) proxy.isBlocked = isCut
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`${this.url}/readyz`).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.status === 200
  }
}

/** Undefined if a required program is missing: the test has then reported it. */
export async function startCluster(t: TestScope, options: ClusterOptions = {}): Promise<Cluster | undefined> {
  const { nodes: count = 3, config = 'base', environment = {}, withStandby = false, databaseFolder } = options
  const postgres = await startPostgresServer(t, async () => {}, {
    durable: true,
    ...(databaseFolder === undefined ? {} : { within: databaseFolder }),
  })
  const valkey = postgres && (await startValkey(t))
  if (postgres === undefined || valkey === undefined) return undefined
  // Empty: all nodes create its tables at the same time.
  const storeUrl = await postgres.createDatabase(t, { empty: true })
  const database = new URL(storeUrl).pathname
  const standby = withStandby ? await postgres.startStandby() : null
  const hosts = [postgres.host, ...(standby === null ? [] : [standby.host])]
  const demo = await startFakeUpstream({ maxCalls: 100_000 })
  t.teardown(() => demo.close())
  const folder = createTemporaryFolder(t)
  const shared = {
    LIMITS_URL: valkey.url,
    SMTP_URL: 'smtp://127.0.0.1:9',
    TRUSTED_PROXIES: '127.0.0.1',
    UPSTREAM_BASE_URL: options.upstream ?? demo.url,
    UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
    UPSTREAM_MODEL_LIGHT: 'demo-light',
    METRICS_TOKEN: 'scrape-me',
    GATEWAY_CONFIG: writeTestConfig(folder, config),
    ...environment,
  }
  const nodes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const databaseProxies = await Promise.all(hosts.map((host) => FaultProxy.start(t, Number(host.split(':')[1]))))
      const proxyHosts = databaseProxies.map(({ port }) => `127.0.0.1:${port}`).join(',')
      const own = { STORE_URL: `postgres://postgres@${proxyHosts}${database}`, DATA_DIR: join(folder, `node-${index + 1}`) }
      return new ClusterNode(t, await findFreePort(), { ...shared, ...own }, databaseProxies)
    }),
  )
  await Promise.all(nodes.map((node) => node.start()))
  const balancer = await startLoadBalancer(
    t,
    nodes.map(({ url }) => new URL(url).host),
  )
  if (balancer === undefined) return undefined
  return {
    url: balancer.url,
    balancer,
    nodes,
    postgres,
    standby,
    valkey,
    demo,
    storeUrl: `postgres://postgres@${hosts.join(',')}${database}`,
    key: /svc_live_\w+/.exec(nodes.map(({ running }) => running.output()).join('\n'))?.[0] ?? '',
    query: (statement) =>
      queryPrimary(
        hosts.map((host) => `postgres://postgres@${host}${database}`),
        statement,
      ),
  }
}
