/**
 * A gateway in one thread without sockets: requests, responses and upstreams are values, the ledger is the real one on a database in memory,
 * and one clock moves everything. What is below, such as threads, files and sockets, has tests of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import base from '../../../gateway.config.ts'
import { createLocalLimits } from '../../../src/access/limits/memory.ts'
import { checkConfig } from '../../../src/config/config.ts'
import type { Turn } from '../../../src/domain/billing/ledger.ts'
import { deriveNames } from '../../../src/exchange/brand-names.ts'
import type { Exchange, Inbound, Outcome, Slots } from '../../../src/exchange/exchange.ts'
import { PluginChain } from '../../../src/exchange/plugins/plugin-chain.ts'
import { parseChatRequest } from '../../../src/exchange/request/chat-request.ts'
import { createLog } from '../../../src/observability/log.ts'
import { Telemetry } from '../../../src/observability/telemetry.ts'
import { BackgroundJobs } from '../../../src/server/background-jobs.ts'
import { createServices } from '../../../src/server/create-services.ts'
import type { CreatedServices } from '../../../src/server/create-services.ts'
import { DataFolder } from '../../../src/system/data-folder/data-folder.ts'
import { createIds } from '../../../src/system/ids.ts'
import { Forwarder } from '../../../src/upstream/forward.ts'
import { mergeConfig } from '../../support/gateway/test-gateway.ts'
import type { Overrides } from '../../support/gateway/test-gateway.ts'
import { noon } from '../../support/gateway/test-exchange.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'
import { openMemoryStore } from './memory-store.ts'
import type { MemoryStore } from './memory-store.ts'
import { SimulatedClient } from './simulated-client.ts'
import type { Pace } from './simulated-client.ts'
import { SimulatedUpstream } from './simulated-upstream.ts'
import type { Script, SimulatedCall } from './simulated-upstream.ts'

/** Two targets of one product. */
const simulatedConfig: Overrides = {
  listen: { siteUrl: 'https://site.example' },
  limits: { addressRpm: 1_000_000 },
  plans: { max: { rpm: 1_000, concurrency: 100 } },
  upstreams: { main: { baseUrl: 'https://first.example/v1' }, second: { baseUrl: 'https://second.example/v1' } },
  products: {
    'svc-2.1': {
      targets: [
        { upstream: 'main', model: 'm' },
        { upstream: 'second', model: 'm', weight: 0 },
      ],
    },
  },
}

export interface SimulatedOptions {
  readonly config?: Overrides
  /** What happens to each call of an upstream. */
  readonly onCall: (call: SimulatedCall) => Script
  /** 0 ≤ n < 1. */
  readonly random?: () => number
}

export interface SentTurn {
  readonly id: string
  readonly startedMs: number
  readonly client: SimulatedClient
  readonly x: Exchange & Partial<Slots>
  /** Set once the turn is over. */
  outcome: Outcome | undefined
  endedMs: number
}

export interface SimulatedAccount {
  readonly id: string
  readonly token: string
  readonly keyId: string
}

type RecordedTurn = Pick<Turn, 'state' | 'credits' | 'outputTokens'>

interface TurnOptions {
  readonly stream?: boolean
  readonly paceMs?: Pace
  readonly body?: Readonly<Record<string, unknown>>
}

export class SimulatedGateway {
  readonly clock: SimulatedClock
  readonly upstream: SimulatedUpstream
  readonly services: CreatedServices
  readonly forwarder: Forwarder
  readonly memory: MemoryStore
  readonly turns: SentTurn[] = []
  readonly #chain: PluginChain
  readonly #folder: string
  readonly #close: () => Promise<void>
  #jobs: BackgroundJobs | undefined
  #turnCount = 0

  private constructor(
    parts: Pick<SimulatedGateway, 'clock' | 'services' | 'forwarder' | 'upstream' | 'memory'>,
    own: { readonly chain: PluginChain; readonly folder: string; readonly close: () => Promise<void> },
  ) {
    this.clock = parts.clock
    this.upstream = parts.upstream
    this.services = parts.services
    this.forwarder = parts.forwarder
    this.memory = parts.memory
    this.#chain = own.chain
    this.#folder = own.folder
    this.#close = own.close
  }

  static async open({ config: overrides = {}, onCall, random = () => 0 }: SimulatedOptions): Promise<SimulatedGateway> {
    const folder = mkdtempSync(join(tmpdir(), 'svc-simulated-'))
    const config = checkConfig(mergeConfig(mergeConfig({ ...base, store: { dataDir: folder } }, simulatedConfig), overrides))
    const clock = new SimulatedClock({ now: noon, monotonicMs: 0 })
    const memory = await openMemoryStore(folder, clock)
    const { store } = memory
    const log = createLog('silent', { write: () => undefined })
    const telemetry = new Telemetry(log)
    const services = createServices({
      config,
      folder: new DataFolder(folder),
      clock,
      ids: createIds(),
      log: log.log,
      telemetry,
      store,
      secret: Buffer.alloc(32, 1),
      limits: createLocalLimits({ maxWaitMs: config.limits.concurrencyWaitMs, clock }),
      imageFiles: null,
      mail: { enqueue: async () => 'queued', deliver: async () => 'sent' },
      demoUrl: null,
      random,
      maxConcurrentHashes: 1,
    })
    Object.assign(services.origins, { site: 'https://site.example', base: 'https://site.example' })
    const upstream = new SimulatedUpstream(clock, onCall)
    const agents = [...services.upstreams.all].flatMap(({ dispatcher, newConnectionDispatcher }) => [
      dispatcher,
      newConnectionDispatcher,
    ])
    for (const each of services.upstreams.all)
      Object.assign(each, { dispatcher: upstream.dispatcher, newConnectionDispatcher: upstream.dispatcher })
    const forwarder = new Forwarder({ config, upstreams: services.upstreams, clock, onAttempt: () => undefined })
    return new SimulatedGateway(
      { clock, services, forwarder, upstream, memory },
      {
        chain: new PluginChain(config.plugins),
        folder,
        async close() {
          forwarder.close()
          telemetry.close()
          await memory.close()
          await Promise.all(agents.map((agent) => agent.close()))
        },
      },
    )
  }

  /** Runs the periodic jobs, as a server does. */
  startJobs(): void {
    this.#jobs = new BackgroundJobs(this.services)
  }

  /** Returns the token of a new member. */
  async createMember(plan = 'max'): Promise<string> {
    return (await this.createAccount(plan)).token
  }

  async createAccount(plan = 'max'): Promise<SimulatedAccount> {
    const { store, ids, clock, membership } = this.services
    const [at, id] = [clock.now(), ids.next('acc_', clock.now())]
    await store.accounts.create({
      id,
      email: `${id.toLowerCase()}@example.com`,
      plan,
      passwordHash: null,
      emailVerified: true,
      at,
    })
    const key = await membership.apiKeys.createUnaudited(id, 'test', null)
    if (key === undefined) throw new Error('no key')
    return { id, token: key.token, keyId: key.key.id }
  }

  /** Begins a turn. */
  send(token: string, { stream = true, paceMs = 0, body = {} }: TurnOptions = {}): SentTurn {
    const id = `mbr_turn-${++this.#turnCount}`
    const client = new SimulatedClient(this.clock, paceMs)
    const text = JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }], stream, ...body })
    const inbound: Inbound = {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${token}` },
      address: '192.0.2.1',
      cookieToken: null,
      chat: async () => parseChatRequest(Buffer.from(text)),
      onDisconnect: (listener) => client.onDisconnect(listener),
    }
    const x: Exchange & Partial<Slots> = {
      id,
      responseRequestId: id,
      kind: 'turn',
      names: deriveNames('svc'),
      siteUrl: 'https://site.example',
      startedAt: this.clock.now(),
      startedMonotonicMs: this.clock.monotonicMs(),
      inbound,
      headers: {},
      debug: {},
      lastAttempt: { target: null, status: null },
    }
    const turn: SentTurn = { id, startedMs: this.clock.monotonicMs(), client, x, outcome: undefined, endedMs: NaN }
    this.turns.push(turn)
    void this.#chain.run(x, this.forwarder.call, client, this.services).then((outcome) => {
      turn.outcome = outcome
      turn.endedMs = this.clock.monotonicMs()
    })
    return turn
  }

  /** What the ledger has of a turn. */
  readTurn({ id }: Pick<SentTurn, 'id'>): RecordedTurn | undefined {
    return this.memory.db
      .prepare<[string], RecordedTurn>('select state, credits, output_tokens as outputTokens from turn where request_id = ?')
      .get(id)
  }

  countOpenHolds(): number {
    return this.memory.db.prepare<[], number>(`select count(*) from turn where state = 'held'`).pluck().get() ?? 0
  }

  /** The faults of the whole ledger. */
  verify(): readonly unknown[] {
    return this.memory.verify().mismatches
  }

  async close(): Promise<void> {
    await this.#jobs?.close()
    await this.#close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
