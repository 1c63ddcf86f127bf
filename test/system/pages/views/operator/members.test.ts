/** `/operator/members`: what the search finds, what each form of a member's page changes, and what it records. All of it without a script. */
import t from 'tap'
import type { Test } from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import { createOperator, openConsole, operatorApi } from '../../../../support/gateway/operators.ts'
import type { TestOperator } from '../../../../support/gateway/operators.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { readEmailsTo } from '../../../../support/gateway/website-client.ts'
import type { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'
import type { PageFormFields } from '../../../../support/website/page-form.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

async function open(t: Test, config: Parameters<typeof startGateway>[1] = {}) {
  const time = { now: Date.now() }
  const gateway = await startGateway(t, config, { clock: createClock({ now: () => time.now }) })
  const owner = await createOperator(gateway, 'owner@example.com', 'owner')
  const console = await openConsole(gateway, owner)
  const member = await createOperator(gateway, 'mei@example.com', null)
  const url = (of: TestOperator = member) => `${gateway.url}/operator/members/${of.account}`
  const send = async (
    form: PageFormFields,
    typed: Record<string, string>,
    { client = console, of = member }: { client?: WebsiteClient; of?: TestOperator } = {},
  ) => sendForm(client, url(of), readFormFields((await client.get(url(of))).body, form), typed)
  const lastRecord = async (account = member.account) => (await gateway.services.store.audit.list({ account, limit: 1 }))[0]
  return { time, gateway, store: gateway.services.store, owner, console, member, url, send, lastRecord }
}

t.test('the search finds a member by what a ticket has', async (t) => {
  const { gateway, console, member } = await open(t)
  const key = await gateway.createKey(member.account)
  const request = (await gateway.chat(key)).headers.get('x-request-id') ?? ''
  await gateway.waitUntilSettled()
  const find = async (q: string) =>
    [
      ...((await console.get(`${gateway.url}/operator/members?q=${encodeURIComponent(q)}`)).body as string).matchAll(
        /href="\/operator\/members\/(acc_\w+)"/g,
      ),
    ].map(([, id]) => id)
  for (const q of [' MEI@example.com ', member.account, key, key.slice(0, 13), request])
    t.same(await find(q), [member.account], q)
  for (const q of ["' or 1=1 --", '%', '<script>', 'x'.repeat(400), '2026-000001', 'mbr_none12345']) t.same(await find(q), [], q)
  const shown = (await console.get(`${gateway.url}/operator/members?q=${encodeURIComponent('"><script>alert(1)</script>')}`)).body
  t.notMatch(shown, /<script>alert/)
  t.equal((await find('')).length, 2)
})

t.test('the list has pages that begin at a cursor', async (t) => {
  const { gateway, console } = await open(t)
  for (let count = 0; count < 55; count += 1) await gateway.createAccount()
  const first = (await console.get(`${gateway.url}/operator/members`)).body as string
  const next = /href="(\/operator\/members\?after=acc_\w+)"/.exec(first)?.[1] ?? ''
  const second = (await console.get(gateway.url + next)).body as string
  const read = (page: string) => [...page.matchAll(/href="\/operator\/members\/(acc_\w+)"/g)].map(([, id]) => id)
  t.match([read(first).length, read(second).length], [50, 7])
  t.equal(new Set([...read(first), ...read(second)]).size, 57)
  t.equal((await console.get(`${gateway.url}/operator/members?after=${encodeURIComponent("' or 1=1")}`)).status, 200)
})

t.test('each form acts once, with a reason, and records who, what was before and after, and why', async (t) => {
  const { gateway, store, console, owner, member, send, url, lastRecord, time } = await open(t)
  const inMonth = new Date(time.now + 30 * dayMs).toISOString().slice(0, 10)
  const by = { actor: { kind: 'session', account: owner.account }, address: '127.0.0.x' }

  t.match(await send({ action: 'set_plan' }, { plan: 'pro', until: inMonth, reason: '' }), {
    status: 400,
    body: /Fill in this field/,
  })
  for (const until of ['2020-01-01', '2026-02-31', 'soon'])
    t.match(await send({ action: 'set_plan' }, { plan: 'pro', until, reason: 'paid' }), {
      status: 400,
      body: /day in the future/,
    })
  t.match(await send({ action: 'set_plan' }, { plan: 'none', reason: 'paid' }), { status: 400, body: /no plan of this name/ })
  const fields = readFormFields((await console.get(url())).body, { action: 'set_plan' })
  const order = { plan: 'pro', until: inMonth, reason: 'paid by transfer' }
  t.match(await sendForm(console, url(), fields, order), { status: 303 })
  t.match((await store.accounts.find(member.account))?.plan, 'pro')
  t.match(await lastRecord(), {
    ...by,
    event: 'plan_changed',
    reason: 'paid by transfer',
    detail: { before: 'free', plan: 'pro' },
  })
  const repeated = await sendForm(console, url(), fields, { ...order, plan: 'max-5x' })
  t.match(repeated, { status: 200, body: /received before and has acted once/ })
  t.match((await store.accounts.find(member.account))?.plan, 'pro', 'a second press changes nothing')

  for (const credits of ['0', '1.5', 'many', '9'.repeat(17)])
    t.match(await send({ action: 'adjust' }, { pool: 'fast', credits, reason: 'x' }), { status: 400, body: /whole number/ })
  t.match(await send({ action: 'adjust' }, { pool: 'fast', credits: '5 000', reason: 'charged twice' }), { status: 303 })
  t.match(await lastRecord(), { ...by, event: 'credits_adjusted', reason: 'charged twice', detail: { credits: 5000 } })
  t.match((await console.get(url())).body, /5,000 of 5,000/)
  t.match(
    (await member.browser.get('audit')).body.data.find(({ event }: { event: string }) => event === 'credits_adjusted').detail,
    { reason: 'charged twice' },
    'the member reads why',
  )

  time.now += 61_000
  t.match(await send({ action: 'send_email' }, { reason: 'lost it' }), { status: 303 })
  await waitUntil(() => readEmailsTo(gateway, 'mei@example.com').length === 2, 'the email')
  const key = await gateway.createKey(member.account)
  const [stored] = await store.apiKeys.list(member.account)
  t.match(await send({ action: 'revoke_key', subject: stored?.id ?? '' }, { reason: 'leaked' }), { status: 303 })
  t.equal((await gateway.chat(key)).status, 401)
  t.match(await lastRecord(), { ...by, event: 'key_revoked', reason: 'leaked' })

  t.match(await send({ action: 'change_email' }, { email: 'nonsense', reason: 'x' }), { status: 400, body: /whole address/ })
  t.match(await send({ action: 'change_email' }, { email: 'owner@example.com', reason: 'x' }), {
    status: 409,
    body: /for this address already/,
  })
  t.match(await send({ action: 'change_email' }, { email: 'mei2@example.com', reason: 'married' }), { status: 303 })
  t.match(await lastRecord(), { ...by, event: 'email_changed', reason: 'married', detail: { from: 'm***@example.com' } })
  for (const [to, count] of [
    ['mei@example.com', 3],
    ['mei2@example.com', 1],
  ] as const)
    await waitUntil(() => readEmailsTo(gateway, to).length === count, `the notice to ${to}`)

  await store.providerIdentities.link('acme', 's', member.account, time.now)
  t.match(await send({ action: 'unlink', subject: 'acme' }, { reason: 'another person' }), { status: 303 })
  t.same(await store.providerIdentities.listProviders(member.account), [])

  t.match(await send({ action: 'end_sessions' }, { reason: 'stolen' }), { status: 303 })
  t.equal((await member.browser.get('auth/session')).status, 401)
  t.match(await send({ action: 'disable' }, { reason: 'abuse' }), { status: 303 })
  t.match(await lastRecord(), {
    ...by,
    event: 'account_disabled',
    reason: 'abuse',
    detail: { before: 'active', after: 'disabled' },
  })
  t.match(await send({ action: 'enable' }, { reason: 'sorry' }), { status: 303 })
  t.equal((await store.accounts.find(member.account))?.status, 'active')
  t.match(await send({ action: 'disable' }, { reason: 'oops' }, { of: owner }), { status: 409, body: /last owner/ })
})

t.test('a day that a form offers is one that it accepts, in the time zone of the service', async (t) => {
  // The day after, in Shanghai.
  const clock = createClock({ now: () => Date.parse('2026-11-29T20:00:00Z') })
  const gateway = await startGateway(t, { timeZone: 'Asia/Shanghai' }, { clock })
  const console = await openConsole(gateway, await createOperator(gateway, 'owner@example.com', 'owner'))
  const { id } = await gateway.createAccount()
  for (const path of [`members/${id}`, 'money/codes']) {
    const page = (await console.get(`${gateway.url}/operator/${path}`)).body as string
    const days = [...page.matchAll(/type="date"[^>]*? min="([^"]*)"/g)].map(([, day]) => day)
    t.same(days, ['2026-12-01', '2026-12-01'], path)
  }
})

t.test('only an owner changes the address of an account with a role, because its emails sign in to it', async (t) => {
  const { gateway, store, owner, send } = await open(t)
  const operator = await createOperator(gateway, 'operator@example.com', 'operator')
  const client = await openConsole(gateway, operator)
  const typed = { email: 'mine@example.com', reason: 'x' }
  t.match(await send({ action: 'change_email' }, typed, { client, of: owner }), { status: 403, body: /only an owner changes/ })
  t.equal((await store.accounts.find(owner.account))?.email, 'owner@example.com')
  t.match(await send({ action: 'change_email' }, typed, { of: operator }), { status: 303 })
})

t.test('credits without a fresh proof: the form asks for a code, and changes nothing with a wrong one', async (t) => {
  const { gateway, owner, url, time, store, member } = await open(t)
  const stale = await openConsole(gateway, owner, time.now - 10 * minuteMs)
  const page = (await stale.get(url())).body as string
  t.match(page, /id="adjust-code"/)
  const fields = readFormFields(page, { action: 'adjust' })
  const typed = { pool: 'fast', credits: '5000', reason: 'charged twice' }
  t.match(await sendForm(stale, url(), fields, typed), { status: 401, body: /value="5000"/ }, 'what was typed is kept')
  t.match(await sendForm(stale, url(), fields, { ...typed, code: '000000' }), { status: 401, body: /This code is wrong/ })
  t.same(await store.audit.list({ account: member.account, event: 'credits_adjusted', limit: 1 }), [])
  const shell = await openConsole(gateway, null, time.now - 10 * minuteMs)
  t.match((await shell.get(url())).body, /open a new link: svc-gateway console/)
})

t.test('the statement has the balance after each line, the reason of a correction, and what is behind a line', async (t) => {
  const { gateway, console, member, url, send } = await open(t)
  const key = await gateway.createKey(member.account)
  const { membership, store, clock } = gateway.services
  for (let count = 0; count < 3; count += 1) await (await gateway.chat(key)).text()
  await gateway.waitUntilSettled()
  const account = await store.accounts.find(member.account)
  if (account === undefined) throw new Error('there is no member')
  const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: null } as const
  const correction = { pool: 'fast', credits: 10, expiresAt: clock.now() + dayMs, reason: 'a small one' } as const
  for (let count = 0; count < 18; count += 1)
    await membership.memberAdmin.adjustCredits(account, { ...correction, id: `adj_${count}` }, author)
  for (let count = 0; count < 2; count += 1) await (await gateway.chat(key)).text()
  await gateway.waitUntilSettled()
  t.match(await send({ action: 'adjust' }, { pool: 'fast', credits: '5000', reason: 'an outage' }), { status: 303 })
  const read = async (query = '') => {
    const [, statement = ''] =
      /id="title-statement"([^]*?)<\/section>/.exec((await console.get(url() + query)).body as string) ?? []
    return statement
  }
  const shown = await read()
  t.match(shown, /Credits added[^]*“an outage”[^]*\+5,000/)
  const { lines, next } = await membership.turnHistory.readStatement(member.account, { limit: 20 })
  for (const { turn, planLeft, packsLeft } of lines) {
    if (turn !== null) t.ok(shown.includes(`href="/operator/turns/${turn}"`), `turn ${turn}`)
    for (const left of [planLeft, packsLeft])
      t.ok(shown.includes(`<span class="cell">${left.toLocaleString('en-US')}</span>`), `${left} left`)
  }
  t.ok(shown.includes(`?statement=${next}#title-statement`))
  const older = await read(`?statement=${next}`)
  t.match(older, /A period began/)
  t.notMatch(older, 'an outage')
  for (const query of ["?statement=' or 1=1", '?statement=0', '?statement=-1'])
    t.equal((await console.get(`${url()}${query}`)).status, 200, query)
  const support = await openConsole(gateway, await createOperator(gateway, 'bob@example.com', 'finance'))
  t.notMatch((await support.get(url())).body, 'href="/operator/turns/', 'finance sees no turns')
})

t.test('a plan that groups of a provider give is shown with the provider and its end', async (t) => {
  const acme = { name: 'Acme & Söhne', issuer: 'https://acme.example', clientId: 'svc' }
  const { gateway, console, member, url, time } = await open(t, { signIn: { providers: { acme } } })
  const { membership, config } = gateway.services
  for (const provider of ['acme', 'gone']) {
    await membership.subscriptions.applyGroupPlan(member.account, provider, config.plans['max'] ?? null)
    const page = (await console.get(url())).body as string
    const name = provider === 'acme' ? 'Acme &amp; Söhne' : 'gone'
    const shown = page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
    t.match(shown, `Plan max by a group of ${name}`, 'beside the plan in effect')
    t.match(shown, new RegExp(`max@1 running by a group of ${name} .* until .*\\d:\\d\\d`, 'i'), 'among the subscriptions')
    const { body } = await console.get(operatorApi(gateway, `members/${member.account}/subscriptions`))
    const endsAt = new Date(time.now + 12 * 60 * minuteMs).toISOString()
    t.match(body.data.at(-1), { source: 'group', provider, state: 'active', ends_at: endsAt })
    await membership.subscriptions.applyGroupPlan(member.account, provider, null)
  }
})
