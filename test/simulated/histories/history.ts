/**
 * One history of a gateway: members send turns while upstreams fail, clients are slow or disconnect, the ledger refuses or does not answer, the
 * machine stands still and its wall clock is set. One seed is one history; what must always be true is checked during and after it.
 */
import { formatDuration } from '../../../src/system/duration.ts'
import { createRandom } from '../random.ts'
import type { Random } from '../random.ts'
import { SimulatedGateway } from '../gateway/simulated-gateway.ts'
import type { SentTurn } from '../gateway/simulated-gateway.ts'
import {
  answer,
  data,
  done,
  end,
  finish,
  rejection,
  reset,
  streamHead,
  usage,
  wait,
  word,
} from '../gateway/simulated-upstream.ts'
import type { Script, SimulatedCall, Step } from '../gateway/simulated-upstream.ts'

export interface History {
  /** Everything that happened, in order. Two runs of a seed have the same. */
  readonly events: readonly string[]
  /** What must not happen. */
  readonly faults: readonly string[]
}

const totalMs = 60_000
const timeouts = {
  firstByteMs: 10_000,
  idleMs: 8_000,
  totalMs,
  slowReaderMs: 12_000,
  heartbeatAfterMs: 3_000,
  heartbeatEveryMs: 5_000,
}
/** When the last turn begins, and when every turn must be over: after its wait, its time and the answer of the ledger. */
const [sendingMs, endMs] = [60_000, 200_000]
/** How long a turn may wait for a slot of its account and then of its upstream, and for the ledger at its end. */
const [waitMs, maxPendingMs, settlementMs] = [2_000, 1_000, 6_500]

export async function runHistory(seed: number): Promise<History> {
  const random = createRandom(seed)
  const history = new Recorder(random)
  const gateway = await SimulatedGateway.open({
    config: {
      timeouts,
      plans: { max: { rpm: 20, concurrency: 3 } },
      limits: { concurrencyWaitMs: waitMs },
      upstreams: { main: { connections: 3, maxPending: 2, maxPendingMs } },
    },
    random: () => random.number(),
    onCall: (call) => history.beginCall(call),
  })
  try {
    await history.run(gateway)
  } finally {
    await gateway.close()
  }
  return history
}

class Recorder implements History {
  readonly events: string[] = []
  readonly faults: string[] = []
  readonly #random: Random
  #gateway: SimulatedGateway | undefined
  /** Time in which the machine stood still, or the ledger did not work. */
  #disturbedMs = 0
  /** Until when the ledger does not work, in active milliseconds. */
  #ledgerDisturbedUntil = 0

  constructor(random: Random) {
    this.#random = random
  }

  async run(gateway: SimulatedGateway): Promise<void> {
    this.#gateway = gateway
    const random = this.#random
    const tokens = [await gateway.createMember(), await gateway.createMember()]
    for (let count = 5 + random.below(15); count > 0; count--) {
      const token = random.choose(tokens)
      this.#at(random.below(sendingMs), () => this.#send(token))
    }
    for (let count = random.below(4); count > 0; count--)
      this.#at(random.below(sendingMs), () => this.#pause(1 + random.below(90_000)))
    for (let count = random.below(3); count > 0; count--) this.#at(random.below(sendingMs), () => this.#disturbLedger())
    if (random.isOne(0.2)) this.#at(random.below(sendingMs), () => this.#setWallClock((random.number() - 0.5) * 7_200_000))
    if (random.isOne(0.1)) this.#at(sendingMs, () => this.#shutDown())
    await gateway.clock.run(endMs)
    this.#checkEnd(gateway)
  }

  beginCall(call: SimulatedCall): Script {
    const state = this.#gateway?.readTurn({ id: call.turn })?.state
    this.#record(`${call.turn} calls ${call.host}`)
    // Invariant 1.
    if (state !== 'held') this.#fail(`${call.turn} is sent upstream, and its hold is ${state ?? 'not there'}`)
    return this.#chooseScript()
  }

  #chooseScript(): Script {
    const random = this.#random
    const betweenMs = random.choose([0, 10, 200, 1_500])
    const words = 1 + random.below(30)
    const whole = answer(words, { firstMs: random.below(2_000), betweenMs })
    const part = whole.slice(0, 2 + random.below(whole.length - 2))
    switch (random.below(10)) {
      case 0:
        return rejection(random.choose([400, 401, 429, 500, 503]), random.isOne(0.5) ? { 'retry-after': '3' } : {})
      case 1:
        return [...part, reset]
      // It stays silent from there.
      case 2:
        return part
      case 3:
        return [...part, end]
      case 4:
        return random.choose<readonly Step[]>([
          [reset],
          [wait(100), streamHead, end],
          [streamHead, data('data: {"choices":[{"ind\n\n'), end],
          [streamHead, word, finish, usage(1)],
          [streamHead, word, data('data: {"error":{"message":"overloaded","code":503}}\n\n'), done, end],
        ])
      default:
        return whole
    }
  }

  #send(token: string): void {
    const random = this.#random
    const gateway = this.#gateway as SimulatedGateway
    const turn = gateway.send(token, {
      stream: random.isOne(0.8),
      paceMs: random.choose([0, 0, 0, 50, 2_000, Infinity]),
    })
    // A turn that begins while the ledger does not work waits for the rest of that time.
    const disturbedBefore = this.#disturbedMs - Math.max(0, this.#ledgerDisturbedUntil - gateway.clock.activeMs())
    this.#record(`${turn.id} begins`)
    if (random.isOne(0.2)) this.#at(random.below(15_000), () => this.#disconnect(turn))
    const watch = gateway.clock.every(100, () => {
      const { outcome, client } = turn
      if (outcome === undefined) return
      watch.cancel()
      const lastedMs = turn.endedMs - turn.startedMs
      const code = outcome.kind === 'failed' ? ` ${outcome.failure.code}` : ''
      const status = String(client.status)
      this.#record(
        `${turn.id} ${outcome.kind}${code} after ${Math.round(lastedMs)} ms: ${status}, ${client.body.length} characters`,
      )
      const maxMs = totalMs + waitMs + maxPendingMs + settlementMs + this.#disturbedMs - disturbedBefore
      if (lastedMs > maxMs) this.#fail(`${turn.id} lasted ${formatDuration(lastedMs)}`)
      this.#checkReply(turn)
    })
  }

  #checkReply(turn: SentTurn): void {
    const gateway = this.#gateway as SimulatedGateway
    const { client, outcome } = turn
    const entry = gateway.readTurn(turn)
    const isJournaled = gateway.memory.journal.some(({ hold }) => hold === turn.x.hold?.id)
    if (client.body.includes('"quotaRefunded":true') && entry?.state !== 'refunded' && !isJournaled)
      this.#fail(`${turn.id} was answered with a refund, and is ${entry?.state ?? 'unknown'}`)
    if (client.hasWholeStream && entry?.state !== 'settled' && !isJournaled)
      this.#fail(`${turn.id} received a whole answer, and is ${entry?.state ?? 'unknown'}`)
    if (outcome?.kind === 'failed' && entry?.state === 'settled' && entry.credits > 0)
      this.#fail(`${turn.id} failed, and was charged ${entry.credits}`)
  }

  #disconnect(turn: SentTurn): void {
    if (turn.client.isOver) return
    this.#record(`${turn.id} disconnects`)
    turn.client.disconnect()
  }

  #pause(ms: number): void {
    this.#record(`the machine stands still for ${ms} ms`)
    this.#disturbedMs += ms
    this.#gateway?.clock.skip(ms)
  }

  #setWallClock(byMs: number): void {
    const clock = this.#gateway?.clock
    this.#record(`the wall clock is set by ${Math.round(byMs)} ms`)
    clock?.setNow(clock.now() + Math.round(byMs))
  }

  #disturbLedger(): void {
    const { writer } = (this.#gateway as SimulatedGateway).memory
    const ms = this.#random.choose([50, 700, 3_000, 20_000])
    this.#disturbedMs += ms
    this.#ledgerDisturbedUntil = Math.max(this.#ledgerDisturbedUntil, (this.#gateway as SimulatedGateway).clock.activeMs() + ms)
    if (this.#random.isOne(0.5)) {
      this.#record(`the ledger refuses for ${ms} ms`)
      writer.isRefusing = true
      this.#at(ms, () => (writer.isRefusing = false))
    } else {
      this.#record(`the ledger does not answer for ${ms} ms`)
      writer.hold()
      this.#at(ms, () => writer.resume())
    }
  }

  #shutDown(): void {
    this.#record('the time for the shutdown is over')
    this.#gateway?.forwarder.abortAll(new Error('the service restarts'))
  }

  #checkEnd(gateway: SimulatedGateway): void {
    for (const { id, outcome } of gateway.turns) if (outcome === undefined) this.#fail(`${id} has not ended`)
    if (gateway.countOpenHolds() > 0) this.#fail(`${gateway.countOpenHolds()} holds are open`)
    if (gateway.memory.journal.length > 0) this.#fail(`${gateway.memory.journal.length} settlements are in the journal only`)
    if (gateway.forwarder.running > 0) this.#fail(`${gateway.forwarder.running} calls are running`)
    for (const { name, limiter } of gateway.services.upstreams.all)
      if (limiter.running + limiter.pending > 0) this.#fail(`${limiter.running} slots of ${name} are taken`)
    const slots = gateway.services.limits.concurrency as unknown as { readonly size: number }
    if (slots.size > 0) this.#fail('an account has a slot without a turn')
    for (const mismatch of gateway.verify()) this.#fail(`the ledger does not add up: ${JSON.stringify(mismatch)}`)
  }

  #at(ms: number, work: () => void): void {
    this.#gateway?.clock.after(ms, work).unref()
  }

  #record(event: string): void {
    this.events.push(`${Math.round(this.#gateway?.clock.activeMs() ?? 0)} ${event}`)
  }

  #fail(fault: string): void {
    this.#record(`FAULT: ${fault}`)
    this.faults.push(fault)
  }
}
