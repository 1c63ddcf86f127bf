/**
 * Several servers on one PostgreSQL and one Valkey, behind a balancer, each a process of this machine: what `deploy/` is made of. Nodes can be
 * killed, stopped, started and cut off; the database can crash, and lose its primary to a standby.
 */
import { join } from 'node:path'
import type { DemoUpstream } from '../../src/upstream/demo/upstream.ts'
import { startDemoUpstream } from '../../src/upstream/demo/upstream.ts'
import type { Balancer } from './balancer.ts'
import { startBalancer } from './balancer.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { freePort } from './free-port.ts'
import type { NextVersion } from './next-version.ts'
import type { TestCluster, TestStandby } from './postgres.ts'
import { clusterFor, queryOn } from './postgres.ts'
import type { Scope } from './scope.ts'
import type { ServerProcess } from './server.ts'
import { configIn, startServer } from './server.ts'
import { temporaryFolder } from './temporary-folder.ts'
import type { TestValkey } from './valkey.ts'
import { startValkey } from './valkey.ts'

export interface ClusterOptions {
  /** How many nodes, three at most. */
  readonly nodes?: number
  /** The nodes' configuration: an expression over `base`, the shipped one. */
  readonly config?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Another database server that follows the first, synchronously. */
  readonly withStandby?: boolean
  /** Another upstream than one in this process. */
  readonly upstream?: string
  /** Where the database's files lie; default in memory, if there is room. */
  readonly within?: string
}

export interface Cluster {
  /** The balancer's. */
  readonly url: string
  readonly balancer: Balancer
  readonly nodes: readonly ClusterNode[]
  readonly postgres: TestCluster
  readonly standby: TestStandby | null
  readonly valkey: TestValkey
  readonly demo: DemoUpstream
  /** As an operator writes it: straight to the database. */
  readonly storeUrl: string
  /** The first account's, as a node printed it. */
  readonly key: string
  /** Asks the database, whichever server takes writes. */
  query(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export class ClusterNode {
  readonly url: string
  readonly #t: Scope
  readonly #environment: Readonly<Record<string, string>>
  /** Its ways to each database server. */
  readonly ways: readonly CuttingProxy[]
  #server: ServerProcess | undefined

  constructor(t: Scope, port: number, environment: Readonly<Record<string, string>>, ways: readonly CuttingProxy[]) {
    this.#t = t
    this.url = `http://127.0.0.1:${port}`
    this.ways = ways
    this.#environment = { ...environment, PORT: String(port) }
  }

  /** `as`: another version than this one. */
  async start(as?: NextVersion): Promise<void> {
    const own = as === undefined ? {} : { GATEWAY_CONFIG: as.config }
    const server = await startServer(this.#t, { ...this.#environment, ...own }, [], as?.root)
    if (server.url === '') throw new Error(`a node did not start: ${server.output()}${server.log()}`)
    this.#server = server
  }

  get running(): ServerProcess {
    if (this.#server === undefined) throw new Error('this node does not run')
    return this.#server
  }

  /** As a rolling restart ends it: it finishes what it has begun. */
  stop(): Promise<number | null> {
    return this.running.end('SIGTERM')
  }

  kill(): Promise<number | null> {
    return this.running.end('SIGKILL')
  }

  /** Nothing passes between it and the database, and nobody is told. */
  cutOff(isCut = true): void {
    for (const way of this.ways) way.isShut = isCut
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`${this.url}/readyz`).catch(() => null)
    await answer?.arrayBuffer()
    return answer?.status === 200
  }
}

/** Undefined where a program is missing that it needs: the test has then said so. */
export async function startCluster(t: Scope, options: ClusterOptions = {}): Promise<Cluster | undefined> {
  const { nodes: count = 3, config = 'base', environment = {}, withStandby = false, within } = options
  const postgres = await clusterFor(t, async () => {}, { durable: true, ...(within === undefined ? {} : { within }) })
  const valkey = postgres && (await startValkey(t))
  if (postgres === undefined || valkey === undefined) return undefined
  // Empty: the nodes make its tables, all at once.
  const storeUrl = await postgres.database(t, { empty: true })
  const database = new URL(storeUrl).pathname
  const standby = withStandby ? await postgres.standby() : null
  const hosts = [postgres.host, ...(standby === null ? [] : [standby.host])]
  const demo = await startDemoUpstream({ keep: 100_000 })
  t.teardown(() => demo.close())
  const folder = temporaryFolder(t)
  const shared = {
    LIMITS_URL: valkey.url,
    SMTP_URL: 'smtp://127.0.0.1:9',
    TRUSTED_PROXIES: '127.0.0.1',
    UPSTREAM_BASE_URL: options.upstream ?? demo.url,
    UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship',
    UPSTREAM_MODEL_LIGHT: 'demo-light',
    METRICS_TOKEN: 'scrape-me',
    GATEWAY_CONFIG: configIn(folder, config),
    ...environment,
  }
  const nodes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const ways = await Promise.all(hosts.map((host) => CuttingProxy.before(t, Number(host.split(':')[1]))))
      const places = ways.map(({ port }) => `127.0.0.1:${port}`).join(',')
      const own = { STORE_URL: `postgres://postgres@${places}${database}`, DATA_DIR: join(folder, `node-${index + 1}`) }
      return new ClusterNode(t, await freePort(), { ...shared, ...own }, ways)
    }),
  )
  await Promise.all(nodes.map((node) => node.start()))
  const balancer = await startBalancer(
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
      queryOn(
        hosts.map((host) => `postgres://postgres@${host}${database}`),
        statement,
      ),
  }
}
