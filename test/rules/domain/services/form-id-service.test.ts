import t from 'tap'
import { mergeAttemptLimits, AttemptLimits, TooManyAttempts } from '../../../../src/domain/identity/limits/attempt-limits.ts'
import type { Attempts } from '../../../../src/domain/identity/limits/attempt-limits.ts'
import { FormIdService, formLifetimeMs } from '../../../../src/domain/services/form-id-service.ts'

/** Attempts in memory, as nodes share them in their database. */
class SharedAttempts implements Attempts {
  readonly rows: { readonly subject: string; readonly endsAt: number }[] = []

  async consume(subject: string, { times, withinMs }: { readonly times: number; readonly withinMs: number }, now: number) {
    if (this.rows.filter((row) => row.subject === subject && row.endsAt > now).length >= times) return now + withinMs
    this.rows.push({ subject, endsAt: now + withinMs })
    return null
  }
  async findFreeAt() {
    return null
  }
  async restore(subject: string) {
    const place = this.rows.findLastIndex((row) => row.subject === subject)
    if (place !== -1) this.rows.splice(place, 1)
  }
  async sweep() {}
}

let nowMs = 1_000_000
const attempts = new SharedAttempts()
const createNode = (secret = Buffer.alloc(32, 1)) =>
  new FormIdService({
    store: { attempts },
    attemptLimits: new AttemptLimits(attempts, mergeAttemptLimits({ 'form-by-account': { times: 20, withinMs: 1_000 } })),
    clock: { now: () => nowMs },
    ids: { bytes: (size) => crypto.getRandomValues(new Uint8Array(size)) },
    secret,
  })

t.test('redeems a form once on all nodes, each use of a page by itself, and again after it was released', async (t) => {
  const [one, other] = [createNode(), createNode()]
  const id = one.issue('acc_1')
  t.same(await Promise.all([one.redeem(id, 'acc_1', 'a'), other.redeem(id, 'acc_1', 'a')]), ['redeemed', 'used'])
  t.equal(await other.redeem(id, 'acc_1', 'b'), 'redeemed')
  await one.release(id, 'a')
  t.equal(await other.redeem(id, 'acc_1', 'a'), 'redeemed')
  t.equal(await one.redeem(one.issue('acc_1'), 'acc_1', 'a'), 'redeemed', 'the same form of a page that was opened again')
})

t.test('stores nothing for an id of another account, of another installation, that is too old or was made up', async (t) => {
  const node = createNode()
  const id = node.issue('acc_1')
  const before = attempts.rows.length
  for (const [made, account] of [
    [id, 'acc_2'],
    [createNode(Buffer.alloc(32, 2)).issue('acc_1'), 'acc_1'],
    [id.replace(/^./, '9'), 'acc_1'],
    [`${id}A`, 'acc_1'],
    ['', 'acc_1'],
    ['..', 'acc_1'],
    [`a.${'é'.repeat(16)}.${'é'.repeat(22)}`, 'acc_1'],
  ] as const)
    t.equal(await node.redeem(made, account, 'a'), 'expired', made)
  nowMs += formLifetimeMs
  t.equal(await node.redeem(id, 'acc_1', 'a'), 'expired')
  t.equal(attempts.rows.length, before)
})

t.test('bounds the forms of an account', async (t) => {
  const node = createNode()
  for (let sent = 0; sent < 20; sent++) await node.redeem(node.issue('acc_3'), 'acc_3', 'a')
  await t.rejects(node.redeem(node.issue('acc_3'), 'acc_3', 'a'), TooManyAttempts)
})
