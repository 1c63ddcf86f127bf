/** The contract of every store's operators: roles, second factors, passkeys, sessions, shell links, keys and idempotent requests. */
import type { Test } from 'tap'
import type { Store } from '../../../../src/domain/store.ts'
import { LastOwnerError } from '../../../../src/domain/identity/operators/operator.ts'
import type { OperatorRole } from '../../../../src/domain/identity/operators/operator-role.ts'
import { addAccount, noon, toAccountId } from '../../../support/store/contract/store-contract.ts'

type OpenStore = (t: Test) => Promise<Store>

const [one, two] = [toAccountId(1), toAccountId(2)]
const hash = (fill: number) => Buffer.alloc(32, fill)
const byHand = (name: OperatorRole) => ({ name, provider: null })

export function testOperators(t: Test, open: OpenStore): void {
  const promise = (title: string, check: (t: Test, store: Store) => Promise<void>): void =>
    void t.test(title, async (t) => check(t, await open(t)))

  promise('the last owner cannot be demoted, disabled or deleted, and another one can', async (t, store) => {
    const { operators, accounts } = store
    await addAccount(store, 1)
    await addAccount(store, 2)
    t.notOk(await operators.isOpen(noon), 'no role, no console')
    t.same(await operators.setRole(one, byHand('owner'), noon), { before: null })
    t.ok(await operators.isOpen(noon))
    await t.rejects(operators.setRole(one, null, noon), LastOwnerError)
    await t.rejects(operators.setRole(one, byHand('reader'), noon), LastOwnerError)
    await t.rejects(accounts.setStatus(one, 'disabled'), LastOwnerError)
    await t.rejects(accounts.erase(one, noon), LastOwnerError)
    t.match(await accounts.find(one), { status: 'active' })
    t.match(await operators.find(one, noon), { role: 'owner' }, 'nothing is half done')
    await operators.setRole(two, byHand('owner'), noon)
    t.equal(await accounts.setStatus(two, 'disabled'), 'changed')
    t.equal(await operators.find(two, noon), undefined, 'a disabled operator has no role')
    await t.rejects(accounts.setStatus(one, 'disabled'), LastOwnerError, 'a disabled owner does not count')
    await accounts.setStatus(two, 'active')
    t.same(await operators.setRole(one, null, noon), { before: 'owner' })
    t.equal(await operators.setRole(toAccountId(9), byHand('reader'), noon), undefined, 'no such account')
  })

  promise('of two owners that are removed at once, one stays', async (t, store) => {
    await addAccount(store, 1)
    await addAccount(store, 2)
    for (const account of [one, two]) await store.operators.setRole(account, byHand('owner'), noon)
    const results = await Promise.allSettled([
      store.operators.setRole(one, null, noon),
      store.accounts.setStatus(two, 'disabled'),
    ])
    t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    const owners = (await store.operators.list(noon)).filter(({ role }) => role === 'owner')
    t.equal(owners.length, 1)
  })

  promise('a session of the console ends with the role, the account’s state and the member’s session', async (t, store) => {
    const { operators, sessions, accounts } = store
    await addAccount(store, 1)
    await operators.setRole(one, byHand('reader'), noon)
    const member = { account: one, kind: 'web', method: 'code', client: null, address: null } as const
    const openBoth = async (index: number): Promise<Buffer> => {
      const times = { createdAt: noon, expiresAt: noon + 1000 }
      await sessions.create({ ...member, ...times, id: `ses_${index}`, hash: hash(index) })
      const owner = { account: one, session: `ses_${index}`, systemUser: null, address: null, client: null }
      await operators.createSession({ ...owner, ...times, id: `ops_${index}`, hash: hash(index), verifiedAt: noon })
      t.match(await operators.findSession(hash(index), noon), { role: 'reader', verifiedAt: noon })
      return hash(index)
    }
    const first = await openBoth(1)
    t.equal(await operators.findSession(first, noon + 1000), undefined, 'it has expired')
    await operators.verifySession('ops_1', noon + 5)
    t.match(await operators.findSession(first, noon), { verifiedAt: noon + 5 })
    await sessions.end(one, 'ses_1')
    t.equal(await operators.findSession(first, noon), undefined)
    const second = await openBoth(2)
    await accounts.setStatus(one, 'disabled')
    t.equal(await operators.findSession(second, noon), undefined)
    await accounts.setStatus(one, 'active')
    t.equal(await operators.findSession(second, noon), undefined, 'it does not come back')
    const third = await openBoth(3)
    await operators.setRole(one, null, noon)
    t.equal(await operators.findSession(third, noon), undefined)
  })

  promise('a role of a provider’s groups follows them, lapses, and leaves one given by hand alone', async (t, store) => {
    const { operators } = store
    await addAccount(store, 1)
    const apply = (provider: string, role: 'support' | 'reader' | null, at = noon) =>
      operators.applyGroupRole(one, provider, role, at)
    t.same(await apply('acme', null), { before: null, after: null })
    t.same(await apply('acme', 'support'), { before: null, after: 'support' })
    t.same(await apply('other', null), { before: 'support', after: 'support' }, 'another provider does not take it')
    const lapse = noon + 12 * 3_600_000
    t.match(await operators.find(one, lapse - 1), { role: 'support', provider: 'acme' })
    t.equal(await operators.find(one, lapse), undefined)
    t.notOk(await operators.isOpen(lapse))
    t.same(await apply('acme', 'reader', lapse), { before: 'support', after: 'reader' })
    t.match(await operators.find(one, lapse), { role: 'reader' })
    t.same(await apply('acme', null), { before: 'reader', after: null })
    await operators.setRole(one, byHand('finance'), noon)
    for (const role of ['support', null] as const)
      t.same(await apply('acme', role), { before: 'finance', after: 'finance' }, 'given by hand')
  })

  promise('a step of the second factor and a recovery code are good once', async (t, store) => {
    const { operators } = store
    await addAccount(store, 1)
    t.equal(await operators.beginSecondFactor(one, Buffer.from('a')), true)
    t.equal(await operators.beginSecondFactor(one, Buffer.from('b')), true, 'until it is confirmed')
    t.equal(await operators.useStep(one, 4), false, 'not before it is confirmed')
    const confirmation = { step: 5, recoveryHashes: [hash(1), hash(2)], at: noon }
    t.equal(await operators.confirmSecondFactor(one, confirmation), true)
    t.equal(await operators.confirmSecondFactor(one, confirmation), false)
    t.equal(await operators.beginSecondFactor(one, Buffer.from('c')), false, 'a stolen session replaces nothing')
    t.equal(Buffer.from((await operators.findSecondFactor(one))?.secret ?? []).toString(), 'b')
    const uses = await Promise.all([5, 6, 6].map((step) => operators.useStep(one, step)))
    t.equal(uses.filter(Boolean).length, 1)
    t.equal(await operators.useStep(one, 6), false)
    const recoveries = await Promise.all([1, 1, 9].map((code) => operators.useRecoveryCode(one, hash(code), noon)))
    t.equal(recoveries.filter(Boolean).length, 1)
    t.equal(await operators.countRecoveryCodes(one), 1)
    await operators.replaceRecoveryCodes(one, [hash(7)])
    t.equal(await operators.useRecoveryCode(one, hash(2), noon), false, 'earlier codes are void')
    t.equal(await operators.removeSecondFactor(one), true)
    t.equal(await operators.countRecoveryCodes(one), 0)
  })

  promise('a passkey belongs to an account with an authenticator, and its counter only grows', async (t, store) => {
    const { operators, accounts } = store
    await addAccount(store, 1)
    await addAccount(store, 2)
    const passkey = {
      id: 'psk_1',
      account: one,
      name: 'phone',
      credential: Buffer.from('credential 1'),
      publicKey: Buffer.from('key'),
      counter: 0,
      transports: ['internal', 'hybrid'],
      createdAt: noon,
    }
    t.equal(await operators.addPasskey(passkey, 2), 'no_second_factor')
    await operators.beginSecondFactor(one, Buffer.from('a'))
    t.equal(await operators.addPasskey(passkey, 2), 'no_second_factor', 'not before it is confirmed')
    for (const account of [one, two]) {
      await operators.beginSecondFactor(account, Buffer.from('a'))
      await operators.confirmSecondFactor(account, { step: 1, recoveryHashes: [hash(account === one ? 1 : 2)], at: noon })
    }
    t.equal(await operators.addPasskey(passkey, 2), 'added')
    t.equal(await operators.addPasskey({ ...passkey, id: 'psk_2' }, 2), 'known')
    t.equal(await operators.addPasskey({ ...passkey, id: 'psk_2', account: two }, 2), 'known', 'of another account, too')
    const others = [2, 3].map((n) => ({ ...passkey, id: `psk_${n}`, credential: Buffer.from(`credential ${n}`) }))
    const added = await Promise.all(others.map((each) => operators.addPasskey(each, 2)))
    t.same(added.toSorted(), ['added', 'too_many'])
    const [first, ...more] = await operators.listPasskeys(one)
    t.match(first, { id: 'psk_1', name: 'phone', counter: 0, transports: ['internal', 'hybrid'], lastUsedAt: null })
    t.equal(more.length, 1)
    t.same(await operators.listPasskeys(two), [])

    t.equal(await operators.recordPasskeyUse('psk_1', { counter: 0, at: noon + 1 }), true, 'without a counter')
    const uses = await Promise.all([4, 4].map((counter) => operators.recordPasskeyUse('psk_1', { counter, at: noon + 2 })))
    t.equal(uses.filter(Boolean).length, 1)
    for (const counter of [0, 3, 4]) t.equal(await operators.recordPasskeyUse('psk_1', { counter, at: noon }), false)
    t.match((await operators.listPasskeys(one))[0], { counter: 4, lastUsedAt: noon + 2 })
    t.equal(await operators.removePasskey(two, 'psk_1'), undefined, 'of another account')
    t.equal(await operators.removePasskey(one, 'psk_1'), 'phone')
    t.equal(await operators.recordPasskeyUse('psk_1', { counter: 9, at: noon }), false, 'removed')

    t.equal(await operators.removeSecondFactor(one), true)
    t.same(await operators.listPasskeys(one), [], 'the reset of the second factor removes them')
    await operators.addPasskey({ ...passkey, account: two }, 2)
    await operators.setRole(two, byHand('reader'), noon)
    await operators.setRole(two, null, noon)
    t.equal((await operators.listPasskeys(two)).length, 1, 'a role that is taken leaves them')
    await accounts.erase(two, noon)
    t.same(await operators.listPasskeys(two), [])
  })

  promise('a passkey’s challenge is good once, for its session and purpose, until its end', async (t, { operators }) => {
    const owner = { session: 'ops_1', purpose: 'step_up' } as const
    await operators.beginPasskeyChallenge(owner, hash(1), noon + 300)
    await operators.beginPasskeyChallenge(owner, hash(2), noon + 300)
    t.equal(await operators.takePasskeyChallenge({ ...owner, purpose: 'register' }, noon), undefined)
    t.equal(await operators.takePasskeyChallenge({ ...owner, session: 'ops_2' }, noon), undefined)
    const taken = await Promise.all([1, 2].map(() => operators.takePasskeyChallenge(owner, noon)))
    t.same(
      taken.filter((each) => each !== undefined).map((each) => Buffer.from(each)),
      [hash(2)],
      'the newest, for one caller',
    )
    await operators.beginPasskeyChallenge(owner, hash(3), noon + 300)
    t.equal(await operators.takePasskeyChallenge(owner, noon + 300), undefined, 'expired')
    await operators.beginPasskeyChallenge(owner, hash(4), noon + 300)
    await operators.sweep(noon + 300)
    t.equal(await operators.takePasskeyChallenge(owner, noon), undefined, 'swept')
  })

  promise('a shell link is good once, until its end', async (t, { operators }) => {
    const link = { systemUser: 'root', createdAt: noon, expiresAt: noon + 300 }
    await operators.createShellLink({ ...link, hash: hash(1) })
    t.ok(await operators.isOpen(noon))
    t.equal(await operators.findShellLink(hash(1), noon), 'root')
    const used = await Promise.all([1, 1].map((fill) => operators.useShellLink(hash(fill), noon)))
    t.same(
      used.filter((user) => user !== undefined),
      ['root'],
    )
    t.notOk(await operators.isOpen(noon))
    await operators.createShellLink({ ...link, hash: hash(2) })
    t.equal(await operators.useShellLink(hash(2), noon + 300), undefined)
    await operators.sweep(noon + 300)
    t.equal(await operators.findShellLink(hash(2), noon), undefined)
  })

  promise('a key has its maker’s role of now, a number bound, and a limit of the day', async (t, store) => {
    const { operators } = store
    await addAccount(store, 1)
    await operators.setRole(one, byHand('finance'), noon)
    const key = {
      account: one,
      name: 'books',
      prefix: 'svc_op_abcd',
      last4: 'wxyz',
      networks: ['10.0.0.0/8'],
      dailyCredits: 100,
      scopes: ['money:read', 'money:write'] as const,
      createdAt: noon,
      expiresAt: null,
    }
    t.match(await operators.createKey({ ...key, id: 'opk_1', hash: hash(1) }, 1), { ...key, revokedAt: null })
    t.equal(await operators.createKey({ ...key, id: 'opk_2', hash: hash(2) }, 1), undefined)
    t.match(await operators.findKeyByHash(hash(1), noon), { role: 'finance', key: { ...key, id: 'opk_1' } })
    const spent = await Promise.all([60, 60, 40].map((credits) => operators.spend('opk_1', noon, credits)))
    t.ok(spent.filter(Boolean).length < 3, 'at most a hundred a day')
    t.equal(await operators.spend('opk_1', noon, 100), false)
    t.equal(await operators.spend('opk_1', noon + 1, 100), true, 'another day')
    t.equal(await operators.spend('opk_1', noon + 1, 1), false)
    await operators.setRole(one, byHand('reader'), noon)
    t.match(await operators.findKeyByHash(hash(1), noon), { role: 'reader' })
    await operators.recordKeyUse('opk_1', noon)
    t.equal(await operators.revokeKey('opk_1', noon + 1), true)
    t.equal(await operators.revokeKey('opk_1', noon + 2), true)
    t.match(await operators.findKey('opk_1'), { lastUsedAt: noon, revokedAt: noon + 1 })
    t.equal(await operators.revokeKey('opk_9', noon), false)
    t.ok(await operators.createKey({ ...key, id: 'opk_2', hash: hash(2) }, 1), 'a revoked key does not count')
    await operators.setRole(one, null, noon)
    t.equal(await operators.findKeyByHash(hash(2), noon), undefined)
    t.match(await operators.findKey('opk_2'), { revokedAt: noon }, 'and does not come back with another role')
  })

  promise('an idempotency key is claimed once, and keeps its answer', async (t, { operators }) => {
    const claims = await Promise.all([1, 1].map(() => operators.beginRequest(hash(1), 'a', noon)))
    t.same(
      claims.filter((earlier) => earlier !== undefined),
      [{ fingerprint: 'a', answer: null }],
    )
    await operators.endRequest(hash(1), { status: 200, body: '{}' })
    await operators.forgetRequest(hash(1))
    t.same(await operators.beginRequest(hash(1), 'b', noon), { fingerprint: 'a', answer: { status: 200, body: '{}' } })
    await operators.beginRequest(hash(2), 'a', noon)
    await operators.forgetRequest(hash(2))
    t.equal(await operators.beginRequest(hash(2), 'a', noon), undefined, 'a refused request may be repeated')
    await operators.sweep(noon + 86_400_000)
    t.equal(await operators.beginRequest(hash(1), 'c', noon), undefined)
  })
}
