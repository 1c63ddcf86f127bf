/**
 * What every store promises of all that is no ledger, whatever stands behind it. Where several nodes may have a store open, it is opened
 * several times, and whoever races does so on all of them.
 */
import type { Test } from 'tap'
import type { Award, Rush } from '../../src/membership/boost.ts'
import type { NewDeviceLogin } from '../../src/membership/device-login.ts'
import type { LetterVerdict, NewLetter, SentLetter } from '../../src/membership/mail-code.ts'
import type { NewSession } from '../../src/membership/session.ts'
import type { Store } from '../../src/membership/store.ts'
import { accountId, addAccount, keyOf, noon } from './contract.ts'

const hour = 3_600_000
const day = 24 * hour

/** A store but for its ledger. */
export type Repositories = Omit<Store, 'ledger' | 'backup' | 'close' | 'days'>

/** `open` gives an empty store, as each of so many nodes sees it, or fewer where there can be no more; it is closed at the end of the test. */
export function repositoryContract(t: Test, open: (t: Test, nodes: number) => Promise<readonly Repositories[]>): void {
  const onNodes = (
    count: number,
    name: string,
    keep: (t: Test, store: Repositories, nodes: readonly Repositories[]) => Promise<void>,
  ): void => {
    t.test(name, async (t) => {
      const nodes = await open(t, count)
      const [store] = nodes
      if (store === undefined) throw new Error('no store was opened')
      await addAccount(store)
      await keep(t, store, nodes)
    })
  }
  /** A promise about a store with one account. */
  const promise = (name: string, keep: (t: Test, store: Repositories) => Promise<void>): void => onNodes(1, name, keep)
  /** The same, where much is asked at once, of several nodes where there are. */
  const race = (name: string, keep: Parameters<typeof onNodes>[2]): void => onNodes(3, name, keep)

  promise('an account is found by id and by address in any case, and its address is taken', async (t, store) => {
    const account = {
      id: accountId(1),
      email: 'member1@example.org',
      plan: 'free',
      planUntil: null,
      status: 'active',
      createdAt: noon,
    }
    t.same(await store.accounts.find(accountId(1)), account)
    t.same(await store.accounts.find('Member1@Example.org'), account)
    t.equal(await store.accounts.find('nobody@example.org'), undefined)
    const twin = {
      id: accountId(2),
      email: 'MEMBER1@example.org',
      plan: 'pro',
      passwordHash: null,
      emailVerified: false,
      at: noon,
    }
    t.equal(await store.accounts.create(twin), undefined)
    t.equal(await store.accounts.count(), 1)
  })

  promise('accounts are listed in pages', async (t, store) => {
    for (const index of [2, 3, 4, 5]) await addAccount(store, index)
    const first = await store.accounts.list({ limit: 3 })
    const second = await store.accounts.list({ limit: 3, after: first[2]?.id ?? '' })
    t.same(
      [...first, ...second].map((account) => account.id),
      [1, 2, 3, 4, 5].map(accountId),
    )
    t.equal(await store.accounts.count(), 5)
  })

  promise('plan and status change, and say so when there is no such account', async (t, store) => {
    t.equal(await store.accounts.setPlan(accountId(1), 'pro'), true)
    t.equal(await store.accounts.setStatus(accountId(1), 'disabled'), true)
    t.match(await store.accounts.find(accountId(1)), { plan: 'pro', status: 'disabled' })
    t.equal(await store.accounts.setPlan(accountId(9), 'pro'), false)
    t.equal(await store.accounts.setStatus(accountId(9), 'disabled'), false)
  })

  promise('a key is found by its hash with its owner, and is revoked once and for all', async (t, store) => {
    t.match(await store.keys.create(keyOf(1), 5), { id: 'key_1', lastUsedAt: null, revokedAt: null })
    t.match(await store.keys.findByHash(keyOf(1).hash), {
      key: { id: 'key_1', account: accountId(1) },
      account: { id: accountId(1), plan: 'free' },
    })
    t.equal(await store.keys.findByHash(keyOf(2).hash), undefined)
    t.equal(await store.keys.revoke(accountId(2), 'key_1', noon), false, 'not for another account')
    t.equal(await store.keys.revoke(accountId(1), 'key_1', noon), true)
    t.equal(await store.keys.revoke(undefined, 'key_1', noon + 5), true)
    t.equal((await store.keys.findByHash(keyOf(1).hash))?.key.revokedAt, noon, 'the first instant stays')
    t.equal(await store.keys.revoke(accountId(1), 'key_9', noon), false)
  })

  race('an account never has more live keys than allowed, however many ask at once', async (t, store) => {
    const created = await Promise.all(Array.from({ length: 30 }, (_, index) => store.keys.create(keyOf(index), 20)))
    t.equal(created.filter((key) => key !== undefined).length, 20)
    const [first] = await store.keys.list(accountId(1))
    await store.keys.revoke(accountId(1), first?.id ?? '', noon)
    t.ok(await store.keys.create(keyOf(40), 20), 'a revoked key makes room')
  })

  promise('the last use of many keys is recorded, and never goes backwards', async (t, store) => {
    for (const index of [1, 2, 3]) await store.keys.create(keyOf(index), 5)
    await store.keys.touch(
      new Map([
        ['key_1', noon + 5],
        ['key_2', noon + 6],
        ['key_9', noon],
      ]),
    )
    await store.keys.touch(new Map([['key_1', noon + 1]]))
    await store.keys.touch(new Map())
    t.same(
      (await store.keys.list(accountId(1))).map((key) => key.lastUsedAt),
      [noon + 5, noon + 6, null],
    )
  })

  race('so many times in any span, however many ask at once and whenever the span begins', async (t, { counters }) => {
    const allowance = { times: 3, withinMs: hour }
    const take = (at: number, subject = 'guesses') => counters.take(subject, allowance, at)
    t.equal(await take(noon), null)
    const later = noon + hour - 1
    const answers = await Promise.all(Array.from({ length: 10 }, () => take(later)))
    t.equal(answers.filter((freeAt) => freeAt === null).length, 2)
    t.equal(
      answers.find((freeAt) => freeAt !== null),
      noon + hour,
      'when the first counts no more',
    )
    t.equal(await take(noon + hour), null, 'what was refused was not counted')
    t.equal(await take(noon + hour), later + hour, 'and no window begins anew')
    t.equal(await take(noon, 'others'), null)
    await counters.giveBack('guesses')
    t.equal(await take(noon + hour), null)
    await counters.sweep(later + hour)
    t.equal(await take(later + hour), null)
    t.equal(await take(later + hour), null)
    t.equal(await take(later + hour), noon + 2 * hour)
  })

  race('programs make room for others while nobody has approved them, and are forgotten unused', async (t, store, nodes) => {
    const { apps, sessions } = store
    const register = (id: string, createdAt = noon) => apps.register({ id, metadata: { client_id: id }, createdAt }, 2)
    const approved = { ...sessionOf(1), kind: 'app', method: 'consent', app: 'app_1' } as const
    t.equal(await register('app_1'), true)
    t.equal(await register('app_2', noon + 1), true)
    t.equal(await apps.approve(approved), true)
    t.equal(await register('app_3', noon + 2), true)
    t.equal(await apps.find('app_2'), undefined, 'the oldest that was never approved')
    t.same(await apps.find('app_1'), { client_id: 'app_1' })
    t.equal(await apps.approve({ ...approved, id: 'ses_2', hash: new Uint8Array(32).fill(2), app: 'app_3' }), true)
    t.equal(await register('app_4'), false, 'one that is used stays')

    const record = { kind: 'AccessToken', hash: new Uint8Array(32).fill(9), session: 'ses_1', payload: { scope: 'tools' } }
    const token = { ...record, expiresAt: noon + hour }
    t.equal(await apps.arm(token, noon, noon + 90 * day), true)
    t.match(await apps.owner('AccessToken', token.hash), {
      session: { id: 'ses_1', app: 'app_1' },
      account: { id: accountId(1) },
    })
    const consumed = await Promise.all(
      nodes.flatMap((node) => [1, 2, 3].map(() => node.apps.consume('AccessToken', token.hash, noon))),
    )
    t.equal(consumed.filter(Boolean).length, 1)
    t.equal(await sessions.end(accountId(1), 'ses_1'), true)
    t.equal(await apps.look('AccessToken', token.hash), undefined, 'what hangs on a session goes with it')
    t.equal(await apps.arm(token, noon, noon + day), false, 'and does not come back')

    await apps.keep({ ...token, session: null })
    await apps.sweep(noon + hour, { unapproved: noon, unused: noon }, 10)
    t.equal(await apps.look('AccessToken', token.hash), undefined)
    t.equal(await apps.find('app_1'), undefined)
  })

  promise('an address is proven once, which takes away a password that may be somebody else’s', async (t, { accounts }) => {
    await accounts.create({ ...memberOf(2), passwordHash: 'phc', emailVerified: false })
    t.match(await accounts.findForSignIn('MEMBER2@example.org'), { passwordHash: 'phc', emailVerified: false })
    t.equal(await accounts.confirmAddress(accountId(2)), true)
    t.equal(await accounts.confirmAddress(accountId(2)), false)
    t.equal(await accounts.setPasswordHash(accountId(2), 'other'), true)
    t.match(await accounts.findForSignIn(accountId(2)), { passwordHash: 'other', emailVerified: true })
    t.equal(await accounts.setPasswordHash(accountId(9), 'other'), false)
  })

  promise('one person’s addresses are found together, and accounts are counted by plan', async (t, { accounts }) => {
    await accounts.create({ ...memberOf(3), email: 'member1+work@example.org', at: noon + 1 })
    t.same(
      (await accounts.ofMailbox('member1@example.org')).map(({ id }) => id),
      [accountId(1), accountId(3)],
    )
    await accounts.setPlan(accountId(3), 'pro')
    await accounts.create(memberOf(4))
    await accounts.forget(accountId(4), noon)
    t.same(await accounts.byPlan(), [
      { plan: 'free', accounts: 1 },
      { plan: 'pro', accounts: 1 },
    ])
  })

  promise('a plan ends when it is over, and not before', async (t, { accounts }) => {
    await accounts.setPlan(accountId(1), 'pro', noon + day)
    t.same(await accounts.endPlans(noon + day - 1, 'free'), [])
    t.same(await accounts.endPlans(noon + day, 'free'), [accountId(1)])
    t.match(await accounts.find(accountId(1)), { plan: 'free', planUntil: null })
    t.same(await accounts.endPlans(noon + 2 * day, 'free'), [])
  })

  promise(
    'what a forgotten person has used is kept until its period is over, at its highest',
    async (t, { accounts, persons }) => {
      const person = bytes(7)
      const used = (credits: number) =>
        ({ pool: 'fast', window: 'week', startsAt: noon, endsAt: noon + day, used: credits }) as const
      for (const [index, credits] of [
        [2, 30],
        [3, 50],
        [4, 20],
      ] as const) {
        await accounts.create(memberOf(index))
        await accounts.forget(accountId(index), noon, { person, use: [used(credits)] })
      }
      t.same(await persons.use(person), [used(50)])
      await persons.sweep(noon + day)
      t.same(await persons.use(person), [])
    },
  )

  race(
    'a key or session limit holds, and so does every number of tries, whoever asks wherever',
    async (t, { keys, counters }, nodes) => {
      const asks = Array.from({ length: 66 }, (_, index) => nodes[index % nodes.length] ?? nodes[0])
      const made = await Promise.all(asks.map((node, index) => node?.keys.create(keyOf(index), 20)))
      t.equal(made.filter((key) => key !== undefined).length, 20)
      t.equal((await keys.list(accountId(1))).length, 20)
      const tries = await Promise.all(asks.map((node) => node?.counters.take('door', { times: 9, withinMs: hour }, noon)))
      t.equal(tries.filter((freeAt) => freeAt === null).length, 9)
      t.equal(await counters.take('door', { times: 9, withinMs: hour }, noon), noon + hour)
    },
  )

  promise('a session is found by its token, renewed, listed and ended', async (t, { accounts, sessions }) => {
    t.equal(await sessions.create(sessionOf(1)), true)
    t.equal(await sessions.create(sessionOf(2)), true)
    t.match(await sessions.findByHash(bytes(1)), { session: { id: 'ses_1', lastUsedAt: noon }, account: { id: accountId(1) } })
    t.same(
      (await sessions.list(accountId(1))).map(({ id }) => id),
      ['ses_2', 'ses_1'],
    )
    t.equal(await sessions.renew('ses_1', bytes(9)), true)
    t.equal(await sessions.findByHash(bytes(1)), undefined, 'the old token is worth nothing')
    t.ok(await sessions.findByHash(bytes(9)))
    await sessions.touch(
      new Map([
        ['ses_1', noon + 5],
        ['ses_2', noon + 6],
        ['ses_9', noon],
      ]),
    )
    await sessions.touch(new Map([['ses_1', noon + 1]]))
    t.same(
      (await sessions.list(accountId(1))).map(({ lastUsedAt }) => lastUsedAt),
      [noon + 6, noon + 5],
    )
    t.equal(await sessions.end(accountId(2), 'ses_1'), false, 'not another account’s')
    t.equal(await sessions.end(accountId(1), 'ses_1'), true)
    t.equal(await sessions.sweep(noon + hour, 5), 1)
    await accounts.setStatus(accountId(1), 'disabled')
    t.equal(await sessions.create(sessionOf(3)), false)
  })

  promise('ending the others ends what a device may fetch but has not', async (t, { sessions, devices }) => {
    for (const index of [1, 2, 3]) await sessions.create(sessionOf(index))
    await devices.start(deviceOf(1), 5)
    await devices.claim('USER-1', accountId(1), noon)
    await devices.decide('USER-1', accountId(1), 'approved', noon)
    t.equal(await sessions.endOthers(accountId(1), 'ses_2'), 2)
    t.equal(await devices.redeem(bytes(1), noon, () => sessionOf(4)), undefined)
    t.equal(await sessions.endOthers(accountId(1), null), 1)
  })

  race('a device login is polled, claimed, approved and redeemed once', async (t, store, nodes) => {
    const { devices, sessions } = store
    t.equal(await devices.start(deviceOf(1), 5), true)
    t.equal(await devices.start({ ...deviceOf(2), userCode: 'USER-1' }, 5), false, 'the code is taken')
    t.match(await devices.poll(bytes(1), noon), { kind: 'waiting', hurried: false, intervalSeconds: 5 })
    t.match(await devices.poll(bytes(1), noon + 1000), { kind: 'waiting', hurried: true, intervalSeconds: 10 })
    t.match(await devices.claim('USER-1', accountId(1), noon), { state: 'claimed', account: accountId(1) })
    await addAccount(store, 2)
    t.equal(await devices.claim('USER-1', accountId(2), noon), undefined, 'it is another’s')
    t.match(await devices.decide('USER-1', accountId(1), 'approved', noon), { state: 'approved' })
    t.same(await devices.poll(bytes(1), noon), { kind: 'approved' })
    const redeemed = await Promise.all(
      Array.from({ length: 9 }, (_, index) =>
        nodes[index % nodes.length]?.devices.redeem(bytes(1), noon, ({ account }) => ({ ...sessionOf(index), account })),
      ),
    )
    t.equal(redeemed.filter((session) => session !== undefined).length, 1)
    t.equal((await sessions.list(accountId(1))).length, 1)
    t.same(await devices.poll(bytes(1), noon), { kind: 'gone' })
    await devices.start(deviceOf(3), 5)
    await devices.decide('USER-3', accountId(1), 'denied', noon)
    t.same(await devices.poll(bytes(3), noon), { kind: 'denied' })
    await devices.sweep(noon + hour)
    t.same(await devices.poll(bytes(3), noon), { kind: 'gone' })
  })

  race('a letter’s code is tried so often and no more, and is good once', async (t, { mailCodes }, nodes) => {
    t.same(await mailCodes.put(letterOf(1), noon - hour, letters(3)), { kind: 'send', tries: 3 })
    const tries = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        nodes[index % nodes.length]?.mailCodes.attempt(bytes(50), 'ada@example.org', noon + 1),
      ),
    )
    t.equal(tries.filter((hash) => hash !== undefined).length, 3)
    t.match(await mailCodes.look(bytes(1), noon - 1), { address: 'ada@example.org' })
    const used = await Promise.all(
      nodes.flatMap((node) => [node.mailCodes.consumeCode(bytes(1)), node.mailCodes.consumeCode(bytes(1))]),
    )
    t.equal(used.filter(Boolean).length, 1)
    t.equal(await mailCodes.consumeLink(bytes(1), noon - 1), undefined)
    await mailCodes.put(letterOf(2), noon - hour, letters(3))
    t.match(await mailCodes.consumeLink(bytes(2), noon - 1), { address: 'ada@example.org', invite: 'INVITE' })
    await mailCodes.sweep(noon)
    t.equal(await mailCodes.look(bytes(2), 0), undefined)
  })

  race('letters are judged by those before them, however many are asked for at once', async (t, _, nodes) => {
    const atMost =
      (most: number) =>
      (recent: readonly SentLetter[]): LetterVerdict =>
        recent.length < most ? { kind: 'send', tries: 1 } : { kind: 'wait', until: noon + hour }
    const verdicts = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        nodes[index % nodes.length]?.mailCodes.put(letterOf(index), noon - hour, atMost(2)),
      ),
    )
    t.equal(verdicts.filter((verdict) => verdict?.kind === 'send').length, 2)
  })

  race(
    'a person at a provider is linked once, and a sign-in under way is taken once',
    async (t, { identities, providerLogins }, nodes) => {
      t.equal(await identities.link('idp', 'ada', accountId(1), noon), true)
      t.equal(await identities.link('idp', 'ada', accountId(1), noon), false)
      t.equal(await identities.find('idp', 'ada'), accountId(1))
      const login = {
        state: bytes(1),
        provider: 'idp',
        nonce: 'n',
        verifier: 'v',
        next: '/',
        invite: null,
        expiresAt: noon + hour,
      }
      await providerLogins.put(login)
      const taken = await Promise.all(nodes.flatMap((node) => [1, 2, 3].map(() => node.providerLogins.take(bytes(1), noon))))
      t.equal(taken.filter((one) => one !== undefined).length, 1)
      await providerLogins.put({ ...login, state: bytes(2) })
      await providerLogins.sweep(noon + hour)
      t.equal(await providerLogins.take(bytes(2), noon), undefined)
    },
  )

  race('of 10 packs of a rush 120 members get 10, and one award is made once', async (t, store, nodes) => {
    const { boosts } = store
    for (let index = 2; index <= 120; index += 1) await addAccount(store, index)
    t.equal(await boosts.openRush(rushOf('rush_1', { packs: 10 }), noon, { beside: false }), undefined)
    const grabs = await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        nodes[index % nodes.length]?.boosts.grab(
          awardOf(`pack_${index}`, { account: accountId(index + 1), kind: 'rush' }),
          'rush_1',
        ),
      ),
    )
    t.equal(grabs.filter(Boolean).length, 10)
    t.match(await boosts.rushes(5), [{ id: 'rush_1', remaining: 0 }])
    const days = await Promise.all(nodes.flatMap((node) => [1, 2, 3].map(() => node.boosts.award(awardOf('checkin_1')))))
    t.equal(days.filter(Boolean).length, 1)
    t.equal(await boosts.hasAward('checkin_1'), true)
    t.equal((await boosts.undelivered(noon + 1, 100)).length, 11)
    await boosts.delivered('checkin_1')
    t.equal((await boosts.undelivered(noon + 1, 100)).length, 10)
  })

  race('rushes stand one after the other unless they may stand beside each other', async (t, { boosts }, nodes) => {
    const opened = await Promise.all(
      nodes.flatMap((node, index) => [node.boosts.openRush(rushOf(`rush_${index}`), noon, { beside: false })]),
    )
    t.equal(opened.filter((other) => other === undefined).length, 1)
    t.equal(await boosts.openRush(rushOf('rush_b', { startsAt: noon + 1 }), noon, { beside: true }), undefined)
    t.match(await boosts.openRush(rushOf('rush_c'), noon, { beside: false }), { packs: 3 })
    t.equal(await boosts.closeRush('rush_b', noon + 2), true)
    t.equal(await boosts.closeRush('rush_b', noon + 2), false)
    t.match((await boosts.currentRushes(noon + 3))[0], { remaining: 3, endsAt: noon + hour })
    t.equal(
      await boosts.openRush(rushOf('rush_d', { startsAt: noon + day, endsAt: noon + 2 * day }), noon, { beside: false }),
      undefined,
    )
    t.equal(await boosts.closeRush('rush_d', noon + 5), true, 'one that had not begun is over before it begins')
    t.match(await boosts.rushes(1), [{ id: 'rush_d', startsAt: noon + 4, endsAt: noon + 5 }])
  })

  race('an invitation counts one person once, never in a circle, and so many a month', async (t, store, nodes) => {
    const { boosts } = store
    for (const index of [2, 3, 4, 5]) await addAccount(store, index)
    t.equal(await boosts.inviteCode(accountId(1), 'CODE'), 'CODE')
    t.equal(await boosts.inviteCode(accountId(1), 'OTHER'), 'CODE')
    t.equal(await boosts.inviteCode(accountId(2), 'CODE'), undefined, 'it is taken')
    t.match(await boosts.inviterOf('CODE'), { account: accountId(1), email: 'member1@example.org' })
    const invite = (invited: number, inviter: number) => ({
      invited: accountId(invited),
      inviter: accountId(inviter),
      person: bytes(invited),
      inviterPerson: bytes(inviter),
      at: noon,
    })
    t.equal(await boosts.recordInvite(invite(1, 1)), false)
    const recorded = await Promise.all(nodes.flatMap((node) => [1, 2].map(() => node.boosts.recordInvite(invite(2, 1)))))
    t.equal(recorded.filter(Boolean).length, 1)
    t.equal(await boosts.recordInvite(invite(3, 2)), true)
    t.equal(await boosts.recordInvite(invite(1, 3)), false, 'it would be a circle')
    await boosts.decideInvites(noon, noon - day, 1)
    t.same(await boosts.payableInvites(5), [], 'nobody has had a turn yet')
    t.equal(await boosts.credited(accountId(1), bytes(1), 0), 0)
    await boosts.invitePaid(accountId(2))
  })

  promise('an image is kept while somebody has it, those looked at last longest', async (t, store) => {
    const { images } = store
    await addAccount(store, 2)
    const image = (index: number) => ({ hash: `${index}`.repeat(64), kind: 'png' as const, bytes: 100 })
    for (const index of [1, 2, 3]) await images.own(image(index), accountId(1), noon + index)
    await images.own(image(1), accountId(2), noon + 9)
    t.same(await images.find(image(1).hash), { ...image(1), accessedAt: noon + 9 })
    await images.touch(image(2).hash, noon + 20)
    t.equal(await images.shrink(200, 10), 1, 'the one looked at longest ago')
    const dropped: string[] = []
    t.equal(await images.drop(10, ({ hash }) => dropped.push(hash)), 1)
    t.same(dropped, [image(3).hash])
    t.equal(await images.find(image(3).hash), undefined)
    t.equal(await images.disown(noon + 3, 10), 2)
    t.equal(await images.drop(10, () => undefined), 1)
    t.ok(await images.find(image(1).hash), 'somebody else still has it')
  })

  promise('the audit tells newest first, by account, event, time and page, and forgets what is old', async (t, { audit }) => {
    const record = (index: number, account: string | null) =>
      ({
        id: `aud_${index}`,
        account,
        event: 'key_made',
        at: noon + index,
        address: null,
        requestId: 'mbr_1',
        detail: { key: 'k' },
      }) as const
    for (const index of [1, 2, 3]) await audit.record(record(index, index === 2 ? null : accountId(1)))
    const ids = async (query: Partial<Parameters<typeof audit.list>[0]>) =>
      (await audit.list({ limit: 10, ...query })).map(({ id }) => id.slice(4)).join('')
    t.equal(await ids({}), '321')
    t.equal(await ids({ account: accountId(1) }), '31')
    t.equal(await ids({ event: 'key_made', before: 'aud_3' }), '21')
    t.equal(await ids({ since: noon + 2 }), '32')
    t.same((await audit.list({ limit: 1 }))[0], record(3, accountId(1)))
    t.equal(await audit.sweep(noon + 3, 1), 1)
    t.equal(await ids({}), '32')
  })

  race('whose credentials changed is told to every node once, in order', async (t, store, nodes) => {
    await addAccount(store, 2)
    await store.keys.create(keyOf(1), 5)
    await store.sessions.create(sessionOf(1))
    const start = await Promise.all(nodes.map(({ changes }) => changes.latest()))
    const look = async (index: number) => {
      const told = await nodes[index]?.changes.since(start[index] ?? 0, 100)
      start[index] = told?.seq ?? 0
      return told?.accounts
    }
    for (const index of nodes.keys()) t.same(await look(index), [])
    for (const change of [
      () => store.keys.revoke(accountId(1), 'key_1', noon),
      () => store.sessions.renew('ses_1', bytes(2)),
      () => store.sessions.end(accountId(1), 'ses_1'),
      () => store.accounts.setPlan(accountId(1), 'pro'),
    ]) {
      await change()
      for (const index of nodes.keys()) t.same(await look(index), [accountId(1)])
      for (const index of nodes.keys()) t.same(await look(index), [])
    }
    await store.accounts.setStatus(accountId(2), 'disabled')
    await store.changes.sweep(1)
    t.same(await look(0), [accountId(2)])
  })
}

function bytes(byte: number): Uint8Array {
  return new Uint8Array(32).fill(byte)
}

function memberOf(index: number) {
  const email = `member${index}@example.org`
  return { id: accountId(index), email, plan: 'free', passwordHash: null, emailVerified: true, at: noon }
}

function sessionOf(index: number): NewSession {
  return {
    id: `ses_${index}`,
    account: accountId(1),
    kind: 'web',
    method: 'code',
    client: 'Editor',
    address: null,
    createdAt: noon,
    expiresAt: noon + hour,
    hash: bytes(index),
  }
}

function deviceOf(index: number): NewDeviceLogin {
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

function letterOf(index: number): NewLetter {
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

function letters(tries: number): (recent: readonly SentLetter[]) => LetterVerdict {
  return () => ({ kind: 'send', tries })
}

function rushOf(id: string, change: Partial<Rush> = {}): Rush {
  return { id, packs: 3, pool: 'fast', credits: 100, packMs: day, startsAt: noon, endsAt: noon + hour, ...change }
}

function awardOf(id: string, change: Partial<Award> = {}): Award {
  return { id, account: accountId(1), kind: 'checkin', pool: 'fast', credits: 100, at: noon, expiresAt: noon + day, ...change }
}
