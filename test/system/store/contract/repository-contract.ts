/**
 * The contract of every store's repositories. Where several nodes can share a store, it is opened several times, and concurrent
 * operations run on all of them.
 */
import type { Test } from 'tap'
import type { BoostClaim, Rush } from '../../../../src/domain/billing/boost.ts'
import type { NewDeviceLogin } from '../../../../src/domain/identity/device-login.ts'
import type { SendVerdict, NewEmailVerification, SentVerificationEmail } from '../../../../src/domain/identity/email/email-otp.ts'
import { maxSessionsPerAccount } from '../../../../src/domain/identity/session.ts'
import type { NewSession } from '../../../../src/domain/identity/session.ts'
import type { Store } from '../../../../src/domain/store.ts'
import { createNodeTest } from './test-on-nodes.ts'
import type { OpenNodes } from './test-on-nodes.ts'
import { toAccountId, addAccount, createApiKey, noon } from '../../../support/store/contract/store-contract.ts'

const hour = 3_600_000
const day = 24 * hour

/** A store without its ledger. */
export type Repositories = Omit<Store, 'ledger' | 'backup' | 'close' | 'dailyUsage'>

export function testRepositoryContract(t: Test, open: OpenNodes): void {
  const test = createNodeTest(t, open)
  /** A test on a store with one account. */
  const promise = (name: string, keep: (t: Test, store: Repositories) => Promise<void>): void => test(name, keep)
  /** A test with concurrent operations, on several nodes where possible. */
  const race = (name: string, keep: Parameters<typeof test>[1]): void => test(name, keep, 3)

  promise('finds an account by id and by address in any case, and refuses its address a second time', async (t, store) => {
    const account = {
      id: toAccountId(1),
      email: 'member1@example.org',
      plan: 'free',
      planUntil: null,
      terms: null,
      status: 'active',
      createdAt: noon,
    }
    t.same(await store.accounts.find(toAccountId(1)), account)
    t.same(await store.accounts.find('Member1@Example.org'), account)
    t.equal(await store.accounts.find('nobody@example.org'), undefined)
    const twin = {
      id: toAccountId(2),
      email: 'MEMBER1@example.org',
      plan: 'pro',
      passwordHash: null,
      emailVerified: false,
      at: noon,
    }
    t.equal(await store.accounts.create(twin), undefined)
    t.equal(await store.accounts.count(), 1)
  })

  promise('lists accounts in pages', async (t, store) => {
    for (const index of [2, 3, 4, 5]) await addAccount(store, index)
    const first = await store.accounts.list({ limit: 3 })
    const second = await store.accounts.list({ limit: 3, after: first[2]?.id ?? '' })
    t.same(
      [...first, ...second].map((account) => account.id),
      [1, 2, 3, 4, 5].map(toAccountId),
    )
    t.equal(await store.accounts.count(), 5)
  })

  promise('changes plan and status, and reports an unknown account', async (t, store) => {
    t.equal(await store.accounts.setPlan(toAccountId(1), 'pro'), true)
    t.equal(await store.accounts.setStatus(toAccountId(1), 'disabled'), 'changed')
    t.equal(await store.accounts.setStatus(toAccountId(1), 'disabled'), 'unchanged')
    t.match(await store.accounts.find(toAccountId(1)), { plan: 'pro', status: 'disabled' })
    t.equal(await store.accounts.setPlan(toAccountId(9), 'pro'), false)
    t.equal(await store.accounts.setStatus(toAccountId(9), 'disabled'), undefined)
  })

  promise('finds a key with its owner by hash, and revokes it for good', async (t, store) => {
    t.match(await store.apiKeys.create(createApiKey(1), 5), { id: 'key_1', lastUsedAt: null, revokedAt: null })
    t.match(await store.apiKeys.findByHash(createApiKey(1).hash), {
      key: { id: 'key_1', account: toAccountId(1) },
      account: { id: toAccountId(1), plan: 'free' },
    })
    t.equal(await store.apiKeys.findByHash(createApiKey(2).hash), undefined)
    t.equal(await store.apiKeys.revoke(toAccountId(2), 'key_1', noon), false, 'not for another account')
    t.equal(await store.apiKeys.revoke(toAccountId(1), 'key_1', noon), true)
    t.equal(await store.apiKeys.revoke(undefined, 'key_1', noon + 5), true)
    t.equal((await store.apiKeys.findByHash(createApiKey(1).hash))?.key.revokedAt, noon, 'the first instant stays')
    t.equal(await store.apiKeys.revoke(toAccountId(1), 'key_9', noon), false)
  })

  race('an account never has more live keys than the limit, however many are created at once', async (t, store) => {
    const created = await Promise.all(Array.from({ length: 30 }, (_, index) => store.apiKeys.create(createApiKey(index), 20)))
    t.equal(created.filter((key) => key !== undefined).length, 20)
    const [first] = await store.apiKeys.list(toAccountId(1))
    await store.apiKeys.revoke(toAccountId(1), first?.id ?? '', noon)
    t.ok(await store.apiKeys.create(createApiKey(40), 20), 'a revoked key makes room')
  })

  promise('records the last use of many keys, and never an earlier one', async (t, store) => {
    for (const index of [1, 2, 3]) await store.apiKeys.create(createApiKey(index), 5)
    await store.apiKeys.recordLastUsed(
      new Map([
        ['key_1', noon + 5],
        ['key_2', noon + 6],
        ['key_9', noon],
      ]),
    )
    await store.apiKeys.recordLastUsed(new Map([['key_1', noon + 1]]))
    await store.apiKeys.recordLastUsed(new Map())
    t.same(
      (await store.apiKeys.list(toAccountId(1))).map((key) => key.lastUsedAt),
      [noon + 5, noon + 6, null],
    )
  })

  race('allows only the limit of attempts in any span, however many run at once', async (t, { attempts }) => {
    const allowance = { times: 3, withinMs: hour }
    const take = (at: number, subject = 'guesses') => attempts.consume(subject, allowance, at)
    t.equal(await take(noon), null)
    const later = noon + hour - 1
    const answers = await Promise.all(Array.from({ length: 10 }, () => take(later)))
    t.equal(answers.filter((freeAt) => freeAt === null).length, 2)
    t.equal(
      answers.find((freeAt) => freeAt !== null),
      noon + hour,
      'when the first counts no more',
    )
    t.equal(await take(noon + hour), null, 'a refused attempt is not counted')
    t.equal(await take(noon + hour), later + hour, 'and no window starts again')
    t.equal(await take(noon, 'others'), null)
    await attempts.restore('guesses')
    t.equal(await take(noon + hour), null)
    await attempts.sweep(later + hour)
    t.equal(await take(later + hour), null)
    t.equal(await take(later + hour), null)
    t.equal(await take(later + hour), noon + 2 * hour)
  })

  race('a usage alert is recorded once and taken by one node, and its level replaces a lower one', async (t, store, nodes) => {
    const alert = { account: toAccountId(1), pool: 'premium', window: 'week', endsAt: noon + day, level: 80 } as const
    const known = { ...alert, attempt: 1 }
    const onAll = <Result>(work: (node: Repositories) => Promise<Result>): Promise<Result[]> => Promise.all(nodes.map(work))
    await onAll(({ usageAlerts }) => usageAlerts.record(alert, noon))
    t.equal(await store.usageAlerts.claim(noon - 1), undefined, 'nothing before it is due')
    const takenBy = (await onAll(({ usageAlerts }) => usageAlerts.claim(noon))).filter((taken) => taken !== undefined)
    t.same(takenBy, [known])
    await onAll(({ usageAlerts }) => usageAlerts.record(alert, noon))
    t.equal(await store.usageAlerts.claim(noon + hour), undefined, 'it stays taken without an end')

    await store.usageAlerts.retryAt(alert, noon + hour)
    t.equal(await store.usageAlerts.claim(noon + hour - 1), undefined)
    t.same(await store.usageAlerts.claim(noon + hour), { ...alert, attempt: 2 })
    await store.usageAlerts.end(alert, 'sent')
    await store.usageAlerts.retryAt(alert, noon)
    t.equal(await store.usageAlerts.claim(noon + hour), undefined, 'it is not sent again')

    const fast = { ...alert, pool: 'fast' } as const
    await store.usageAlerts.record(fast, noon)
    await onAll(({ usageAlerts }) => usageAlerts.record({ ...fast, level: 100 }, noon))
    await store.usageAlerts.record(fast, noon)
    t.match(await store.usageAlerts.claim(noon), { level: 100 })
    t.equal(await store.usageAlerts.claim(noon), undefined)

    const late = { ...alert, window: 'day', endsAt: noon + hour } as const
    await store.usageAlerts.record(late, noon)
    await store.usageAlerts.sweep(noon + hour, noon)
    t.equal(await store.usageAlerts.claim(noon), undefined, 'it is dropped with its window')
    await store.usageAlerts.record(late, noon)
    t.equal(await store.usageAlerts.claim(noon), undefined, 'and not recorded anew')
    await store.usageAlerts.sweep(noon + 2 * day, noon + 2 * day)
    await store.usageAlerts.record(late, noon)
    t.ok(await store.usageAlerts.claim(noon), 'until it is forgotten')
  })

  promise('keeps who wants usage alerts, and how they read', async (t, { usageAlerts, accounts }) => {
    const id = toAccountId(1)
    t.equal(await usageAlerts.findSubscriber(id), undefined)
    await usageAlerts.subscribe(id, { language: null, timeZone: null }, noon)
    t.same(await usageAlerts.findSubscriber(id), { language: null, timeZone: null })
    await usageAlerts.subscribe(id, { language: 'zh', timeZone: 'Asia/Shanghai' }, noon + 1)
    t.same(await usageAlerts.findSubscriber(id), { language: 'zh', timeZone: 'Asia/Shanghai' })
    await addAccount({ accounts }, 2)
    await usageAlerts.subscribe(toAccountId(2), { language: 'en', timeZone: null }, noon)
    const list = async (after: string, limit = 10) =>
      (await usageAlerts.listCandidates({ since: 0, after, limit })).map(({ account, turns }) => [account.id, turns])
    t.same(await list(''), [
      [id, 0],
      [toAccountId(2), 0],
    ])
    t.same(await list('', 1), [[id, 0]])
    t.same(await list(id), [[toAccountId(2), 0]])
    await accounts.setStatus(id, 'disabled')
    t.same(await list(''), [[toAccountId(2), 0]])
    await accounts.erase(toAccountId(2), noon)
    await usageAlerts.unsubscribe(id)
    t.same([await usageAlerts.findSubscriber(id), await usageAlerts.findSubscriber(toAccountId(2))], [undefined, undefined])
  })

  promise('erasing an account deletes emails and device logins that name its address or network', async (t, store) => {
    const { accounts, emailVerifications, deviceLogins } = store
    const [id, mailbox] = [toAccountId(1), 'm1@example.org']
    const address = (await accounts.find(id))?.email ?? ''
    await emailVerifications.createIfAllowed({ ...createEmail(1), address, mailbox: address }, noon - hour, limitSends(3))
    await emailVerifications.createIfAllowed({ ...createEmail(2), address: mailbox, mailbox }, noon - hour, limitSends(3))
    await deviceLogins.start(createDeviceLogin(1), 5)
    await deviceLogins.claim('USER-1', id, noon)
    await accounts.erase(id, noon)
    t.equal(await emailVerifications.findByLink(bytes(1), noon - 1), undefined)
    t.match(await emailVerifications.findByLink(bytes(2), noon - 1), { address: mailbox })
    t.same(await deviceLogins.poll(bytes(1), noon), { kind: 'gone' })
    t.equal(await deviceLogins.start(createDeviceLogin(1), 5), true)
  })

  race('unapproved OAuth clients make room for others, and unused ones are deleted', async (t, store, nodes) => {
    const { oauthClients, sessions } = store
    const register = (id: string, createdAt = noon) => oauthClients.register({ id, metadata: { client_id: id }, createdAt }, 2)
    const approved = { ...createSession(1), kind: 'app', method: 'consent', app: 'app_1' } as const
    t.equal(await register('app_1'), true)
    t.equal(await register('app_2', noon + 1), true)
    t.equal(await oauthClients.createConsent(approved), true)
    t.equal(await register('app_3', noon + 2), true)
    t.equal(await oauthClients.find('app_2'), undefined, 'the oldest client that was never approved')
    t.same(await oauthClients.find('app_1'), { client_id: 'app_1' })
    t.equal(await oauthClients.createConsent({ ...approved, id: 'ses_2', hash: new Uint8Array(32).fill(2), app: 'app_3' }), true)
    t.equal(await register('app_4'), false, 'a client in use stays')

    const record = { kind: 'AccessToken', hash: new Uint8Array(32).fill(9), session: 'ses_1', payload: { scope: 'tools' } }
    const token = { ...record, expiresAt: noon + hour }
    t.equal(await oauthClients.issueAccessToken(token, noon, noon + 90 * day), true)
    t.match(await oauthClients.findTokenOwner('AccessToken', token.hash), {
      session: { id: 'ses_1', app: 'app_1' },
      account: { id: toAccountId(1) },
    })
    const consumed = await Promise.all(
      nodes.flatMap((node) => [1, 2, 3].map(() => node.oauthClients.consumeRecord('AccessToken', token.hash, noon))),
    )
    t.equal(consumed.filter(Boolean).length, 1)
    t.equal(await sessions.end(toAccountId(1), 'ses_1'), true)
    t.equal(await oauthClients.findRecord('AccessToken', token.hash), undefined, 'a token ends with its session')
    t.equal(await oauthClients.issueAccessToken(token, noon, noon + day), false, 'and is not issued again')

    await oauthClients.saveRecord({ ...token, session: null })
    await oauthClients.sweep(noon + hour, { unapproved: noon, unused: noon }, 10)
    t.equal(await oauthClients.findRecord('AccessToken', token.hash), undefined)
    t.equal(await oauthClients.find('app_1'), undefined)
  })

  promise('an address is confirmed once, which removes a password that another person may have set', async (t, { accounts }) => {
    await accounts.create({ ...createAccount(2), passwordHash: 'phc', emailVerified: false })
    t.match(await accounts.findForSignIn('MEMBER2@example.org'), { passwordHash: 'phc', emailVerified: false })
    t.equal(await accounts.confirmEmail(toAccountId(2)), true)
    t.equal(await accounts.confirmEmail(toAccountId(2)), false)
    t.equal(await accounts.setPasswordHash(toAccountId(2), 'other'), true)
    t.match(await accounts.findForSignIn(toAccountId(2)), { passwordHash: 'other', emailVerified: true })
    t.equal(await accounts.setPasswordHash(toAccountId(9), 'other'), false)
  })

  promise('finds the addresses of one mailbox together, and counts accounts by plan', async (t, { accounts }) => {
    await accounts.create({ ...createAccount(3), email: 'member1+work@example.org', at: noon + 1 })
    t.same(
      (await accounts.findByCanonicalEmail('member1@example.org')).map(({ id }) => id),
      [toAccountId(1), toAccountId(3)],
    )
    await accounts.setPlan(toAccountId(3), 'pro')
    await accounts.create(createAccount(4))
    await accounts.erase(toAccountId(4), noon)
    t.same(await accounts.countByPlan(), [
      { plan: 'free', accounts: 1 },
      { plan: 'pro', accounts: 1 },
    ])
  })

  promise('refuses a second account of a mailbox where one is asked for, and no other address', async (t, { accounts }) => {
    const create = (index: number, email: string, onePerMailbox = true) =>
      accounts.create({ ...createAccount(index), email }, { onePerMailbox })
    t.ok(await create(2, 'ann@gmail.com'))
    t.equal(await create(3, 'A.nn+shop@Googlemail.com'), undefined)
    t.ok(await create(3, 'a.nn@gmail.com', false), 'the operator may give a person two accounts')
    t.equal(await create(4, 'a.n.n@gmail.com'), undefined)
    t.ok(await create(4, 'member1+work@example.org'), 'at this provider it may be another person')
    t.equal(await create(5, 'member1@example.org'), undefined)
    await accounts.erase(toAccountId(2), noon)
    await accounts.erase(toAccountId(3), noon)
    t.ok(await create(5, 'ann+2@gmail.com'), 'deleted accounts free their mailbox')
  })

  race('the spellings of a mailbox create one account, however many sign up at once', async (t, { accounts }, nodes) => {
    const mailboxes = ['ann', 'bob', 'cleo', 'dan']
    const spellings = mailboxes.flatMap((name) => [
      `${name}@gmail.com`,
      `${name[0]}.${name.slice(1)}@gmail.com`,
      `${name}+1@gmail.com`,
      `${name}@googlemail.com`,
      `${name}+2@googlemail.com`,
      `${name.slice(0, 2)}.${name.slice(2)}@gmail.com`,
    ])
    const created = await Promise.all(
      spellings.map((email, index) => {
        const node = nodes[index % nodes.length] ?? nodes[0]
        return node?.accounts.create({ ...createAccount(index + 2), email }, { onePerMailbox: true })
      }),
    )
    t.equal(created.filter((account) => account !== undefined).length, mailboxes.length)
    for (const name of mailboxes) t.equal((await accounts.findByCanonicalEmail(`${name}@gmail.com`)).length, 1, name)
  })

  promise('a plan ends at its end, and not before', async (t, { accounts }) => {
    await accounts.setPlan(toAccountId(1), 'pro', noon + day)
    t.same(await accounts.endExpiredPlans(noon + day - 1, 'free'), [])
    t.same(await accounts.endExpiredPlans(noon + day, 'free'), [toAccountId(1)])
    t.match(await accounts.find(toAccountId(1)), { plan: 'free', planUntil: null })
    t.same(await accounts.endExpiredPlans(noon + 2 * day, 'free'), [])
  })

  promise('keeps the highest usage of a deleted account until its period is over', async (t, { accounts, carriedUsage }) => {
    const person = bytes(7)
    const used = (credits: number) =>
      ({ pool: 'fast', window: 'week', startsAt: noon, endsAt: noon + day, used: credits }) as const
    for (const [index, credits] of [
      [2, 30],
      [3, 50],
      [4, 20],
    ] as const) {
      await accounts.create(createAccount(index))
      await accounts.erase(toAccountId(index), noon, { person, usage: [used(credits)] })
    }
    t.same(await carriedUsage.find(person), [used(50)])
    await carriedUsage.sweep(noon + day)
    t.same(await carriedUsage.find(person), [])
  })

  race('limits of keys, sessions and attempts hold for concurrent requests', async (t, { apiKeys, attempts }, nodes) => {
    const asks = Array.from({ length: 66 }, (_, index) => nodes[index % nodes.length] ?? nodes[0])
    const made = await Promise.all(asks.map((node, index) => node?.apiKeys.create(createApiKey(index), 20)))
    t.equal(made.filter((key) => key !== undefined).length, 20)
    t.equal((await apiKeys.list(toAccountId(1))).length, 20)
    const tries = await Promise.all(asks.map((node) => node?.attempts.consume('door', { times: 9, withinMs: hour }, noon)))
    t.equal(tries.filter((freeAt) => freeAt === null).length, 9)
    t.equal(await attempts.consume('door', { times: 9, withinMs: hour }, noon), noon + hour)
  })

  promise('finds, renews, lists and ends a session', async (t, { accounts, sessions }) => {
    t.equal(await sessions.create(createSession(1)), true)
    t.equal(await sessions.create(createSession(2)), true)
    t.match(await sessions.findByHash(bytes(1)), { session: { id: 'ses_1', lastUsedAt: noon }, account: { id: toAccountId(1) } })
    t.same(
      (await sessions.list(toAccountId(1))).map(({ id }) => id),
      ['ses_2', 'ses_1'],
    )
    t.equal(await sessions.renew('ses_1', bytes(9)), true)
    t.equal(await sessions.findByHash(bytes(1)), undefined, 'the old token is invalid')
    t.ok(await sessions.findByHash(bytes(9)))
    await sessions.recordLastUsed(
      new Map([
        ['ses_1', noon + 5],
        ['ses_2', noon + 6],
        ['ses_9', noon],
      ]),
    )
    await sessions.recordLastUsed(new Map([['ses_1', noon + 1]]))
    t.same(
      (await sessions.list(toAccountId(1))).map(({ lastUsedAt }) => lastUsedAt),
      [noon + 6, noon + 5],
    )
    t.equal(await sessions.end(toAccountId(2), 'ses_1'), false, 'not another account’s')
    t.equal(await sessions.end(toAccountId(1), 'ses_1'), true)
    t.equal(await sessions.sweep(noon + hour, 5), 1)
    await accounts.setStatus(toAccountId(1), 'disabled')
    t.equal(await sessions.create(createSession(3)), false)
  })

  promise('of too many sessions of a kind, those not used for the longest time end', async (t, { sessions }) => {
    const max = maxSessionsPerAccount.web
    await sessions.create({ ...createSession(200), kind: 'cli' })
    for (let index = 1; index <= max; index++) await sessions.create({ ...createSession(index), createdAt: noon + index })
    await sessions.recordLastUsed(new Map([['ses_1', noon + max + 1]]))
    for (const index of [1, 2]) {
      const later = { ...createSession(max + index), createdAt: noon + max + 1 + index }
      t.equal(await sessions.create(later), true)
    }
    const ids = new Set((await sessions.list(toAccountId(1))).map(({ id }) => id))
    t.equal(ids.size, max + 1)
    t.same(
      ['ses_1', 'ses_2', 'ses_3', 'ses_4', `ses_${max + 2}`, 'ses_200'].map((id) => ids.has(id)),
      [true, false, false, true, true, true],
    )
    t.equal(await sessions.findByHash(bytes(2)), undefined)
  })

  promise('of too many consents, those not used for the longest time end', async (t, { oauthClients, sessions }) => {
    await oauthClients.register({ id: 'app_1', metadata: { client_id: 'app_1' }, createdAt: noon }, 5)
    const max = maxSessionsPerAccount.app
    for (let index = 1; index <= max + 3; index++) {
      const consent = { ...createSession(index), kind: 'app', method: 'consent', app: 'app_1', createdAt: noon + index } as const
      t.equal(await oauthClients.createConsent(consent), true)
    }
    const ids = (await sessions.list(toAccountId(1))).map(({ id }) => id)
    t.equal(ids.length, max)
    t.notOk(ids.includes('ses_3'))
    t.ok(ids.includes('ses_4'))
  })

  promise(
    'ending the other sessions ends approved device logins that were not redeemed',
    async (t, { sessions, deviceLogins }) => {
      for (const index of [1, 2, 3]) await sessions.create(createSession(index))
      await deviceLogins.start(createDeviceLogin(1), 5)
      await deviceLogins.claim('USER-1', toAccountId(1), noon)
      await deviceLogins.decide('USER-1', toAccountId(1), 'approved', noon)
      t.equal(await sessions.endOthers(toAccountId(1), 'ses_2'), 2)
      t.equal(await deviceLogins.redeem(bytes(1), noon, () => createSession(4)), undefined)
      t.equal(await sessions.endOthers(toAccountId(1), null), 1)
    },
  )

  race('polls, claims, approves and redeems a device login once', async (t, store, nodes) => {
    const { deviceLogins, sessions } = store
    t.equal(await deviceLogins.start(createDeviceLogin(1), 5), true)
    t.equal(await deviceLogins.start({ ...createDeviceLogin(2), userCode: 'USER-1' }, 5), false, 'the code is taken')
    t.match(await deviceLogins.poll(bytes(1), noon), { kind: 'waiting', polledEarly: false, intervalSeconds: 5 })
    t.match(await deviceLogins.poll(bytes(1), noon + 1000), { kind: 'waiting', polledEarly: true, intervalSeconds: 10 })
    t.match(await deviceLogins.claim('USER-1', toAccountId(1), noon), { state: 'claimed', account: toAccountId(1) })
    await addAccount(store, 2)
    t.equal(await deviceLogins.claim('USER-1', toAccountId(2), noon), undefined, 'another account has claimed it')
    t.match(await deviceLogins.decide('USER-1', toAccountId(1), 'approved', noon), { state: 'approved' })
    t.same(await deviceLogins.poll(bytes(1), noon), { kind: 'approved' })
    const redeemed = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        nodes[index % nodes.length]?.deviceLogins.redeem(bytes(1), noon, ({ account }) => ({ ...createSession(index), account })),
      ),
    )
    t.equal(redeemed.filter((session) => session !== undefined).length, 1)
    t.equal((await sessions.list(toAccountId(1))).length, 1)
    t.same(await deviceLogins.poll(bytes(1), noon), { kind: 'gone' })
    await deviceLogins.start(createDeviceLogin(3), 5)
    await deviceLogins.decide('USER-3', toAccountId(1), 'denied', noon)
    t.same(await deviceLogins.poll(bytes(3), noon), { kind: 'denied' })
    await deviceLogins.sweep(noon + hour)
    t.same(await deviceLogins.poll(bytes(3), noon), { kind: 'gone' })
  })

  race('an email code allows a limited number of attempts and is accepted once', async (t, { emailVerifications }, nodes) => {
    t.same(await emailVerifications.createIfAllowed(createEmail(1), noon - hour, limitSends(3)), { kind: 'send', tries: 3 })
    const tries = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        nodes[index % nodes.length]?.emailVerifications.useCodeAttempt(bytes(50), 'ada@example.org', noon + 1),
      ),
    )
    t.equal(tries.filter((hash) => hash !== undefined).length, 3)
    t.match(await emailVerifications.findByLink(bytes(1), noon - 1), { address: 'ada@example.org' })
    const used = await Promise.all(
      nodes.flatMap((node) => [node.emailVerifications.consumeCode(bytes(1)), node.emailVerifications.consumeCode(bytes(1))]),
    )
    t.equal(used.filter(Boolean).length, 1)
    t.equal(await emailVerifications.consumeLink(bytes(1), noon - 1), undefined)
    await emailVerifications.createIfAllowed(createEmail(2), noon - hour, limitSends(3))
    await emailVerifications.setPasswordHash(bytes(2), 'a hash')
    t.match(await emailVerifications.consumeLink(bytes(2), noon - 1), {
      address: 'ada@example.org',
      invite: 'INVITE',
      passwordHash: 'a hash',
    })
    await emailVerifications.createIfAllowed(createEmail(3), noon - hour, limitSends(3))
    await emailVerifications.discard(bytes(3))
    t.equal(await emailVerifications.findByLink(bytes(3), noon - 1), undefined)
    await emailVerifications.sweep(noon)
    t.equal(await emailVerifications.findByLink(bytes(2), 0), undefined)
  })

  race('each email is checked against all earlier ones, however many are requested at once', async (t, _, nodes) => {
    const atMost =
      (most: number) =>
      (recent: readonly SentVerificationEmail[]): SendVerdict =>
        recent.length < most ? { kind: 'send', tries: 1 } : { kind: 'wait', until: noon + hour }
    const verdicts = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        nodes[index % nodes.length]?.emailVerifications.createIfAllowed(createEmail(index), noon - hour, atMost(2)),
      ),
    )
    t.equal(verdicts.filter((verdict) => verdict?.kind === 'send').length, 2)
  })

  race(
    'links an identity once, and takes a sign-in in progress once',
    async (t, { providerIdentities, providerLogins }, nodes) => {
      t.equal(await providerIdentities.link('idp', 'ada', toAccountId(1), noon), 'linked')
      t.equal(await providerIdentities.link('idp', 'ada', toAccountId(1), noon), 'known')
      t.equal(await providerIdentities.find('idp', 'ada'), toAccountId(1))
      t.equal(await providerIdentities.link('idp', 'ben', toAccountId(1), noon), 'other_subject')
      t.same(await providerIdentities.listProviders(toAccountId(1)), ['idp'])
      t.same(await providerIdentities.listProviders(toAccountId(2)), [])
      t.same(await providerIdentities.unlink('idp', toAccountId(2)), [])
      t.same(await providerIdentities.unlink('idp', toAccountId(1)), [toAccountId(1)])
      t.equal(await providerIdentities.find('idp', 'ada'), undefined)
      const links = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          nodes[index % nodes.length]?.providerIdentities.link('idp', `subject-${index}`, toAccountId(1), noon),
        ),
      )
      t.equal(links.filter((outcome) => outcome === 'linked').length, 1, 'one of several subjects at the same time')
      t.same(await providerIdentities.unlink('idp', null), [toAccountId(1)])
      t.same(await providerIdentities.listSeveral(10), [])
      const login = {
        state: bytes(1),
        provider: 'idp',
        nonce: 'n',
        verifier: 'v',
        next: '/',
        invite: null,
        expiresAt: noon + hour,
      }
      await providerLogins.create(login)
      const taken = await Promise.all(nodes.flatMap((node) => [1, 2, 3].map(() => node.providerLogins.consume(bytes(1), noon))))
      t.equal(taken.filter((one) => one !== undefined).length, 1)
      await providerLogins.create({ ...login, state: bytes(2) })
      await providerLogins.sweep(noon + hour)
      t.equal(await providerLogins.consume(bytes(2), noon), undefined)
    },
  )

  race('120 members get exactly the 10 packs of a rush, and one claim each', async (t, store, nodes) => {
    const { boosts } = store
    for (let index = 2; index <= 120; index += 1) await addAccount(store, index)
    t.equal(await boosts.openRush(createRush('rush_1', { packs: 10 }), noon, { allowOverlap: false }), undefined)
    const grabs = await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        nodes[index % nodes.length]?.boosts.claimRushPack(
          createBoostClaim(`pack_${index}`, { account: toAccountId(index + 1), kind: 'rush' }),
          'rush_1',
        ),
      ),
    )
    t.equal(grabs.filter(Boolean).length, 10)
    t.match(await boosts.listRushes(5), [{ id: 'rush_1', remaining: 0 }])
    const days = await Promise.all(
      nodes.flatMap((node) => [1, 2, 3].map(() => node.boosts.recordClaim(createBoostClaim('checkin_1')))),
    )
    t.equal(days.filter(Boolean).length, 1)
    t.equal(await boosts.hasClaim('checkin_1'), true)
    t.equal((await boosts.listUndelivered(noon + 1, 100)).length, 11)
    await boosts.markDelivered('checkin_1')
    t.equal((await boosts.listUndelivered(noon + 1, 100)).length, 10)
  })

  race('rushes follow each other unless they are allowed to overlap', async (t, { boosts }, nodes) => {
    const opened = await Promise.all(
      nodes.flatMap((node, index) => [node.boosts.openRush(createRush(`rush_${index}`), noon, { allowOverlap: false })]),
    )
    t.equal(opened.filter((other) => other === undefined).length, 1)
    t.equal(await boosts.openRush(createRush('rush_b', { startsAt: noon + 1 }), noon, { allowOverlap: true }), undefined)
    t.match(await boosts.openRush(createRush('rush_c'), noon, { allowOverlap: false }), { packs: 3 })
    t.equal(await boosts.closeRush('rush_b', noon + 2), true)
    t.equal(await boosts.closeRush('rush_b', noon + 2), false)
    t.match((await boosts.listCurrentRushes(noon + 3))[0], { remaining: 3, endsAt: noon + hour })
    t.equal(
      await boosts.openRush(createRush('rush_d', { startsAt: noon + day, endsAt: noon + 2 * day }), noon, {
        allowOverlap: false,
      }),
      undefined,
    )
    t.equal(await boosts.closeRush('rush_d', noon + 5), true, 'a rush that has not begun ends before it begins')
    t.match(await boosts.listRushes(1), [{ id: 'rush_d', startsAt: noon + 4, endsAt: noon + 5 }])
  })

  race('an invitation counts one person once, never in a circle, and up to a limit per month', async (t, store, nodes) => {
    const { boosts } = store
    for (const index of [2, 3, 4, 5]) await addAccount(store, index)
    t.equal(await boosts.getOrCreateInviteCode(toAccountId(1), 'CODE'), 'CODE')
    t.equal(await boosts.getOrCreateInviteCode(toAccountId(1), 'OTHER'), 'CODE')
    t.equal(await boosts.getOrCreateInviteCode(toAccountId(2), 'CODE'), undefined, 'the code is taken')
    t.match(await boosts.findInviter('CODE'), { account: toAccountId(1), email: 'member1@example.org' })
    const invite = (invited: number, inviter: number) => ({
      invited: toAccountId(invited),
      inviter: toAccountId(inviter),
      person: bytes(invited),
      inviterPerson: bytes(inviter),
      at: noon,
    })
    t.equal(await boosts.recordInvite(invite(1, 1)), false)
    const recorded = await Promise.all(nodes.flatMap((node) => [1, 2].map(() => node.boosts.recordInvite(invite(2, 1)))))
    t.equal(recorded.filter(Boolean).length, 1)
    t.equal(await boosts.recordInvite(invite(3, 2)), true)
    t.equal(await boosts.recordInvite(invite(1, 3)), false, 'it would be a circle of invitations')
    await boosts.decideInvites(noon, noon - day, 1)
    t.same(await boosts.listPayableInvites(5), [], 'no invited account has had a turn yet')
    t.equal(await boosts.countPaidInvites(bytes(1), 0), 0)
    await boosts.markInvitePaid(toAccountId(2))
  })

  promise('keeps an image while an account owns it, the last viewed ones longest', async (t, store) => {
    const { images } = store
    await addAccount(store, 2)
    const image = (index: number) => ({ hash: `${index}`.repeat(64), kind: 'png' as const, bytes: 100 })
    for (const index of [1, 2, 3]) await images.addOwner(image(index), toAccountId(1), noon + index)
    await images.addOwner(image(1), toAccountId(2), noon + 9)
    t.same(await images.find(image(1).hash), { ...image(1), accessedAt: noon + 9 })
    await images.touch(image(2).hash, noon + 20)
    t.equal(await images.evictToSize(200, 10), 1, 'the image viewed longest ago')
    const dropped: string[] = []
    t.equal(await images.deleteUnowned(10, ({ hash }) => dropped.push(hash)), 1)
    t.same(dropped, [image(3).hash])
    t.equal(await images.find(image(3).hash), undefined)
    t.equal(await images.removeOwners(noon + 3, 10), 2)
    t.equal(await images.deleteUnowned(10, () => undefined), 1)
    t.ok(await images.find(image(1).hash), 'another account still owns it')
  })

  promise('lists audit events newest first, by account, event, time and page, and deletes old ones', async (t, { audit }) => {
    const record = (index: number, account: string | null) =>
      ({
        id: `aud_${index}`,
        account,
        event: 'key_made',
        at: noon + index,
        address: null,
        requestId: 'mbr_1',
        detail: { key: 'k' },
        actor: index === 3 ? ({ kind: 'command', system_user: 'root' } as const) : null,
        reason: index === 3 ? 'leaked' : null,
      }) as const
    for (const index of [1, 2, 3]) await audit.record(record(index, index === 2 ? null : toAccountId(1)))
    const ids = async (query: Partial<Parameters<typeof audit.list>[0]>) =>
      (await audit.list({ limit: 10, ...query })).map(({ id }) => id.slice(4)).join('')
    t.equal(await ids({}), '321')
    t.equal(await ids({ account: toAccountId(1) }), '31')
    t.equal(await ids({ event: 'key_made', before: 'aud_3' }), '21')
    t.equal(await ids({ since: noon + 2 }), '32')
    t.same((await audit.list({ limit: 1 }))[0], record(3, toAccountId(1)))
    t.equal(await audit.sweep(noon + 3, 1), 1)
    t.equal(await ids({}), '32')
  })

  race('every node reads each credential change once, in order', async (t, store, nodes) => {
    await addAccount(store, 2)
    await store.apiKeys.create(createApiKey(1), 5)
    await store.sessions.create(createSession(1))
    const start = await Promise.all(nodes.map(({ credentialChanges }) => credentialChanges.getLatestSeq()))
    const look = async (index: number) => {
      const told = await nodes[index]?.credentialChanges.listSince(start[index] ?? 0, 100)
      start[index] = told?.seq ?? 0
      return told?.accounts
    }
    for (const index of nodes.keys()) t.same(await look(index), [])
    for (const change of [
      () => store.apiKeys.revoke(toAccountId(1), 'key_1', noon),
      () => store.sessions.renew('ses_1', bytes(2)),
      () => store.sessions.end(toAccountId(1), 'ses_1'),
      () => store.accounts.setPlan(toAccountId(1), 'pro'),
    ]) {
      await change()
      for (const index of nodes.keys()) t.same(await look(index), [toAccountId(1)])
      for (const index of nodes.keys()) t.same(await look(index), [])
    }
    await store.accounts.setStatus(toAccountId(2), 'disabled')
    await store.credentialChanges.sweep(1)
    t.same(await look(0), [toAccountId(2)])
  })
}

function bytes(byte: number): Uint8Array {
  return new Uint8Array(32).fill(byte)
}

function createAccount(index: number) {
  const email = `member${index}@example.org`
  return { id: toAccountId(index), email, plan: 'free', passwordHash: null, emailVerified: true, at: noon }
}

function createSession(index: number): NewSession {
  return {
    id: `ses_${index}`,
    account: toAccountId(1),
    kind: 'web',
    method: 'code',
    client: 'Editor',
    address: null,
    createdAt: noon,
    expiresAt: noon + hour,
    hash: bytes(index),
  }
}

function createDeviceLogin(index: number): NewDeviceLogin {
  return {
    codeHash: bytes(index),
    userCode: `USER-${index}`,
    client: 'svc',
    clientVersion: '1.0.0',
    hostname: 'laptop',
    address: '192.0.2.x',
    network: 'n',
    startedAt: noon,
    expiresAt: noon + hour,
  }
}

function createEmail(index: number): NewEmailVerification {
  return {
    link: bytes(index),
    browser: bytes(50),
    address: 'ada@example.org',
    mailbox: 'ada@example.org',
    network: 'n',
    known: false,
    codeHash: bytes(60),
    passwordHash: null,
    invite: 'INVITE',
    at: noon,
  }
}

function limitSends(tries: number): (recent: readonly SentVerificationEmail[]) => SendVerdict {
  return () => ({ kind: 'send', tries })
}

function createRush(id: string, change: Partial<Rush> = {}): Rush {
  return { id, packs: 3, pool: 'fast', credits: 100, packMs: day, startsAt: noon, endsAt: noon + hour, ...change }
}

function createBoostClaim(id: string, change: Partial<BoostClaim> = {}): BoostClaim {
  return { id, account: toAccountId(1), kind: 'checkin', pool: 'fast', credits: 100, at: noon, expiresAt: noon + day, ...change }
}
