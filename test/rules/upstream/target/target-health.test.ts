/** What each end of a call says about its target. */
import t from 'tap'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import type { FailureFacts } from '../../../../src/exchange/upstream-failure.ts'
import { RecentAccounts } from '../../../../src/upstream/target/recent-accounts.ts'
import { TargetHealth } from '../../../../src/upstream/target/target-health.ts'

const options = { restAfterFailures: 5, rejectedKeyRestMs: 60_000 }
const timedOut: FailureFacts = { kind: 'timeout', phase: 'first_byte' }
const notCalled: readonly FailureFacts[] = [
  { kind: 'queue_full' },
  { kind: 'network', code: 'EMFILE' },
  { kind: 'unconfigured', reason: 'unknown upstream' },
]

for (const facts of notCalled)
  t.test(`calls that were not made hide no failure of those that were: ${JSON.stringify(facts)}`, (t) => {
    const health = new TargetHealth(options)
    for (let nth = 0; nth < 5; nth++) {
      health.recordFailure(new UpstreamFailure(timedOut), nth * 10_000, nth * 10_000)
      for (let refused = 0; refused < 20; refused++)
        health.recordFailure(new UpstreamFailure(facts), nth * 10_000 + refused, nth * 10_000)
    }
    t.equal(health.breaker.state(40_100), 'open')
    t.notOk(health.admits(40_100, false))
    for (let now = 41_000; now < 44_000; now += 1_000) {
      t.ok(health.admits(now, false), 'a probe')
      health.recordFailure(new UpstreamFailure(facts), now, now)
    }
    t.not(health.breaker.state(44_000), 'closed', 'a probe that was not sent is no success')
    t.end()
  })

t.test('a failure that the request caused ends a row of failures', (t) => {
  const health = new TargetHealth(options)
  const refused: FailureFacts = { kind: 'status', status: 400, contentType: '', retryAfter: null, body: '{"error":"no"}' }
  for (let nth = 0; nth < 12; nth++) {
    const failure = new UpstreamFailure(nth % 4 === 3 ? refused : timedOut)
    health.recordFailure(failure, nth * 10_000, nth * 10_000)
    t.equal(failure.retryAfterSeconds, nth % 4 === 3 ? null : 2 ** (nth % 4))
  }
  t.equal(health.breaker.state(120_000), 'closed')
  t.end()
})

const failed: FailureFacts = { kind: 'status', status: 500, contentType: '', retryAfter: null, body: 'no' }

/** Calls of accounts at one target, each a millisecond long. */
class Calls {
  now = 0
  readonly #health = new TargetHealth(options)

  /** Whether the call was admitted. It ends with the facts, or succeeds. */
  make(account: string, facts: FailureFacts | null, kind = ''): boolean {
    const startedAt = this.now
    const caller = { account, kind }
    if (!this.#health.admits(startedAt, false, caller)) return false
    this.now++
    if (facts === null) this.#health.recordSuccess(this.now, startedAt, caller)
    else this.#health.recordFailure(new UpstreamFailure(facts), this.now, startedAt, caller)
    return true
  }

  get state(): string {
    return this.#health.breaker.state(this.now)
  }

  /** Whether another target should be chosen for the account. */
  isLeftOut(account: string): boolean {
    return !this.#health.wouldAdmit(this.now, { account, kind: '' })
  }

  refuse(account: string): number | null {
    return this.#health.refuse(this.now, { account, kind: '' }).retryAfterSeconds
  }
}

t.test('the failures of one account slow that account and leave the target to the others', (t) => {
  for (const facts of [
    failed,
    { kind: 'network', code: 'UND_ERR_SOCKET' },
    { kind: 'timeout', phase: 'total' },
    { kind: 'in_band', status: 200, reason: 'error_object', error: { message: 'no' } },
    { kind: 'in_band', status: 200, reason: 'no_finish' },
  ] as const satisfies FailureFacts[]) {
    const calls = new Calls()
    let sent = 0
    for (let nth = 0; nth < 100; nth++) {
      for (let more = 0; more < 3; more++) if (calls.make('one', facts)) sent++
      t.ok(calls.make('other', null), `${facts.kind} ${nth}`)
      calls.now += 99
    }
    t.ok(sent <= 9, `${sent} of 300 failing calls in ten seconds`)
    t.ok(calls.isLeftOut('one'))
    t.notOk(calls.isLeftOut('other'))
    t.equal(calls.state, 'closed')
  }
  t.end()
})

t.test('a request that the funds of the upstream do not cover leaves the target to smaller ones', (t) => {
  const calls = new Calls()
  for (const message of [
    'This request requires more credits, or fewer max_tokens. You requested up to 32768 tokens, but can only afford 23214.',
    'Prompt tokens limit exceeded: 5132 > 2000. To increase, visit the settings.',
  ]) {
    const body = JSON.stringify({ error: { message, code: 402 } })
    const unaffordable: FailureFacts = { kind: 'status', status: 402, contentType: 'application/json', retryAfter: null, body }
    for (let nth = 0; nth < 20; nth++) {
      calls.make('large', unaffordable)
      t.ok(calls.make('small', null), message)
    }
  }
  const body = '{"error":{"message":"Insufficient credits.","code":402}}'
  calls.make('large again', { kind: 'status', status: 402, contentType: 'application/json', retryAfter: null, body })
  t.notOk(calls.make('small', null), 'without any funds the target rests')
  t.end()
})

t.test('the failing requests of one kind leave the others of the same account to be served', (t) => {
  const calls = new Calls()
  calls.make('other', null)
  for (let nth = 0; nth < 20; nth++) calls.make('one', failed, 'images')
  t.notOk(calls.make('one', failed, 'images'))
  t.ok(calls.make('one', null, 'tools'))
  t.ok(calls.make('one', null))
  t.notOk(calls.make('one', failed, 'images'))
  t.end()
})

t.test('two accounts that fail do not rest a target that serves others', (t) => {
  const calls = new Calls()
  for (let nth = 0; nth < 200; nth++) {
    for (const account of ['free', 'pro', 'free', 'pro', 'free']) calls.make(account, failed)
    t.ok(calls.make(`other ${nth % 3}`, null), `${nth}`)
    calls.now += 50
  }
  t.equal(calls.state, 'closed')
  t.end()
})

t.test('the failures of most accounts rest the target for all', (t) => {
  for (const accounts of [6, 20, 200]) {
    const calls = new Calls()
    let sent = 0
    for (let nth = 0; nth < 400; nth++) if (calls.make(`failing ${nth % accounts}`, failed)) sent++
    t.ok(sent <= 10, `${sent} calls of ${accounts} accounts`)
    t.equal(calls.state, 'open')
    t.notOk(calls.make('another', null), 'also for an account that did not fail')
    t.equal(calls.refuse('another'), calls.refuse('failing 0'))
  }
  t.end()
})

t.test('a target that breaks for all rests as soon as more than half of its accounts have met that', (t) => {
  const calls = new Calls()
  for (let nth = 0; nth < 100; nth++) calls.make(`account ${nth}`, null)
  let sent = 0
  for (let nth = 0; nth < 100; nth++) if (calls.make(`account ${nth}`, failed)) sent++
  t.equal(calls.state, 'open')
  t.ok(sent > 52 && sent <= 60, `${sent} accounts`)
  t.end()
})

t.test('the accounts that one person may own rest no target that serves another account', (t) => {
  const owned = ['1', '2', '3', '4', '5']
  for (const others of [1, 3, 40]) {
    const calls = new Calls()
    calls.make('other 0', null)
    for (let nth = 0; nth < 1_200; nth++) {
      // All kinds at once, and with a success between them.
      for (const account of owned) for (const kind of ['', 'images', 'tools', 'format']) calls.make(account, failed, kind)
      if (nth % 7 === 0) for (const account of owned) calls.make(account, null, 'plain')
      if (nth % 10 === 0) t.ok(calls.make(`other ${(nth / 10) % others}`, null), `${others} others, ${nth}`)
      calls.now += 100
    }
    t.equal(calls.state, 'closed', `${others} others`)
  }
  t.end()
})

t.test('an account that comes while those of one person alone fail is served at once', (t) => {
  const calls = new Calls()
  for (let nth = 0; nth < 50; nth++) calls.make(`${nth % 5}`, failed)
  t.equal(calls.state, 'open')
  for (let nth = 0; nth < 9; nth++) t.ok(calls.make('other', null))
  t.equal(calls.state, 'closed')
  t.end()
})

t.test('a failure that no request can cause rests the target, whichever account meets it', (t) => {
  for (const facts of [
    { kind: 'network', code: 'ECONNREFUSED' },
    { kind: 'timeout', phase: 'connect' },
    { kind: 'timeout', phase: 'first_byte' },
    { kind: 'timeout', phase: 'idle' },
    { ...failed, status: 503 },
    { ...failed, status: 529 },
    { ...failed, status: 504 },
    { kind: 'in_band', status: 200, reason: 'error_object', error: { code: 503, message: 'no' } },
  ] as const satisfies FailureFacts[]) {
    const calls = new Calls()
    calls.make('other', null)
    for (let nth = 0; nth < 5; nth++) calls.make('one', facts)
    t.equal(calls.state, 'open', JSON.stringify(facts))
    t.notOk(calls.make('other', null))
  }
  t.end()
})

t.test('the rule for the only active account is the one for all: failures in a row rest the target', (t) => {
  const calls = new Calls()
  for (let nth = 0; nth < 5; nth++) t.ok(calls.make('one', failed))
  t.equal(calls.state, 'open')
  t.notOk(calls.make('one', null))
  calls.now += 1_000
  t.ok(calls.make('one', failed), 'a probe')
  calls.now += 1_998
  t.notOk(calls.make('one', null))
  calls.now += 1
  t.ok(calls.make('one', null), 'the next one, at twice the delay')
  calls.now += 999
  t.ok(calls.make('one', null))
  t.equal(calls.state, 'closed')
  for (let nth = 0; nth < 5; nth++) t.ok(calls.make('one', null))
  t.end()
})

t.test('another account is served at once while the target rests for the only one that failed', (t) => {
  const calls = new Calls()
  for (let nth = 0; nth < 9; nth++) calls.make('one', failed)
  for (let nth = 0; nth < 9; nth++) t.ok(calls.make('other', null))
  t.equal(calls.state, 'closed')
  t.notOk(calls.make('one', null), 'which waits for its own probe')
  t.end()
})

t.test('the failures of all active accounts rest the target, and one that did not fail is still tried', (t) => {
  const calls = new Calls()
  let sent = 0
  for (let nth = 0; nth < 40; nth++) if (calls.make(`${nth % 3}`, failed)) sent++
  t.ok(sent <= 10, `${sent} of 40 calls`)
  t.equal(calls.state, 'open')
  t.ok(calls.make('another', failed))
  t.notOk(calls.make('another', failed))
  t.ok(calls.make('a fifth', null))
  t.end()
})

t.test('a probe is of an account that did not fail, or of one that did if no other calls in time', (t) => {
  const open = (): Calls => {
    const calls = new Calls()
    for (let nth = 0; nth < 20; nth++) calls.make(['one', 'two', '3', '4', '5'][nth % 5] ?? '', failed)
    t.equal(calls.state, 'open')
    calls.now += 1_000
    return calls
  }
  const calls = open()
  t.notOk(calls.make('one', failed), 'waits for another')
  t.ok(calls.make('other', null))
  const alone = open()
  t.notOk(alone.make('two', failed))
  alone.now += 1_000
  t.ok(alone.make('two', failed))
  t.end()
})

t.test('successes of an account within a second count as one, and its failures all', (t) => {
  const accounts = new RecentAccounts({ consecutiveFailures: 5 })
  const caller = { account: 'a', kind: '' }
  const record = (failed: boolean, now: number) => accounts.record(caller, failed, now, now)
  record(false, 0)
  record(false, 900)
  record(true, 950)
  t.ok(accounts.isFailing('a'))
  t.ok(accounts.getBreaker(caller))
  record(false, 960)
  t.notOk(accounts.isFailing('a'), 'a success ends the failure at once')
  record(false, 2_000)
  accounts.areMostFailing(61_900)
  t.equal(accounts.size, 1, 'it is remembered from its last counted success on')
  accounts.areMostFailing(62_001)
  t.equal(accounts.size, 0)
  t.end()
})

t.test('most accounts fail if all do, or as many as work beside those that one person may own', (t) => {
  for (const [failing, working, areMost] of [
    [0, 0, false],
    [0, 3, false],
    [1, 0, true],
    [4, 0, true],
    [4, 1, false],
    [5, 1, false],
    [6, 1, true],
    [6, 2, false],
    [10, 5, true],
    [10, 6, false],
    [100, 95, true],
    [100, 96, false],
  ] as const) {
    const accounts = new RecentAccounts({})
    for (let nth = 0; nth < failing; nth++) accounts.record({ account: `failing ${nth}`, kind: '' }, true, nth, nth)
    for (let nth = 0; nth < working; nth++) accounts.record({ account: `working ${nth}`, kind: '' }, false, nth, nth)
    t.equal(accounts.areMostFailing(200), areMost, `${failing} failing, ${working} working`)
    t.equal(accounts.isUntried('another', 200), failing <= 5)
  }
  const accounts = new RecentAccounts({})
  for (let nth = 0; nth < 50; nth++) accounts.record({ account: `working ${nth}`, kind: '' }, false, nth, nth)
  for (let nth = 0; nth < 6; nth++) accounts.record({ account: `failing ${nth}`, kind: '' }, true, 50_000, 50_000)
  t.notOk(accounts.areMostFailing(50_000))
  t.ok(accounts.areMostFailing(61_000), 'what was a minute ago tells nothing')
  t.end()
})

t.test('what is kept of accounts is bounded', (t) => {
  const accounts = new RecentAccounts({})
  for (let nth = 0; nth < 100_000; nth++) accounts.record({ account: `account ${nth}`, kind: '' }, true, nth / 1_000, nth / 1_000)
  t.equal(accounts.size, 1_000)
  accounts.record({ account: 'late', kind: '' }, false, 300_000, 300_000)
  t.equal(accounts.size, 1, 'and forgotten after a minute')
  t.end()
})
