/** `/operator/turns`, `/operator/turns/{id}` and `/operator/failures`: found by filters, explained, counted, and never with a prompt. */
import t from 'tap'
import type { Test } from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import type { LiveTurns } from '../../../../../src/pages/views/operator/turns/turns.ts'
import { consoleCookie, createOperator, openConsole } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import type { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import type { Turn } from '../../../../../src/domain/billing/ledger.ts'
import { listLinks } from '../../../../support/website/page-links.ts'

const prompt = 'a prompt that no operator may read'

async function open(t: Test) {
  let now = Date.parse('2026-11-29T06:05:00Z')
  const gateway = await startGateway(t, { timeZone: 'Asia/Shanghai' }, { clock: createClock({ now: () => now }) })
  const owner = await createOperator(gateway, 'ann@example.com', 'owner')
  const console = await openConsole(gateway, owner)
  const member = await gateway.createMember('pro')
  const collect = async (): Promise<void> => {
    await gateway.waitUntilSettled()
    const { membership, clock } = gateway.services
    await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
  }
  const chat = async (status = 200): Promise<void> => {
    gateway.demo.script(() => (status === 200 ? {} : { status }))
    const messages = [{ role: 'user', content: prompt }]
    await (await gateway.chat(member.token, { messages }, { headers: { 'x-request-id': `req-${status}` } })).text()
  }
  await chat()
  now += 60_000
  await chat(500)
  await collect()
  const [failed, charged] = (await gateway.listTurns()) as [Turn, Turn]
  const show = async (path: string, client = console) => {
    const { status, body } = await client.get(`${gateway.url}/operator/${path}`)
    t.notMatch(body, prompt, path)
    return { status, body: body as string }
  }
  const pass = (ms: number): void => void (now += ms)
  return { gateway, owner, console, member, failed, charged, chat, collect, show, pass }
}

const listTurnIds = (body: string): readonly number[] =>
  [...body.matchAll(/href="\/operator\/turns\/(\d+)"/g)].map(([, id]) => Number(id))

t.test('turns are found by filters that stand in the address', async (t) => {
  const { gateway, member, failed, charged, show, pass, owner, console } = await open(t)
  const all = await show('turns')
  t.same(listTurnIds(all.body), [failed.id, charged.id])
  t.match(all.body, 'Has every turn that has ended.')
  t.match(all.body, 'href="/api/operator/v1/turns.csv"')
  const code = failed.code ?? ''
  const found: Readonly<Record<string, readonly number[]>> = {
    [`member=${member.email}`]: [failed.id, charged.id],
    [`member=${member.id}&key=${charged.credential}`]: [failed.id, charged.id],
    'member=acc_none': [],
    'product=svc-2.1&ending=completed': [charged.id],
    'ending=failed': [failed.id],
    [`ending=${code}`]: [failed.id],
    'ending=a_code_of_before': [],
    [`target=${failed.target}`]: [failed.id, charged.id],
    'target=none': [],
    'plan=pro': [failed.id, charged.id],
    'plan=pro&ending=completed': [charged.id],
    'plan=free': [],
    'from=2026-11-29+14:06': [failed.id],
    'to=2026-11-29T06:06:00Z': [charged.id],
    'from=2026-11-29T14:05&to=2026-11-29+07:06+Europe/Berlin': [charged.id],
    'from=2026-11-29+14:06+%2B08:00': [failed.id],
    'from=2026-11-30': [],
    [`request=${charged.requestId}&from=2026-11-29`]: [charged.id],
  }
  for (const [query, ids] of Object.entries(found)) {
    const { status, body } = await show(`turns?${query}`)
    t.equal(status, 200, query)
    t.same(listTurnIds(body), ids, query)
  }
  const [csv = ''] = listLinks(
    (await show('turns?ending=failed&plan=pro&from=2026-11-29+14:06')).body,
    '/api/operator/v1/turns.csv',
  )
  t.match(csv, 'plan=pro')
  const exported = await fetch(gateway.url + csv, { headers: { cookie: console.cookieHeader() } })
  const lines = (await exported.text()).trim().split('\n').slice(1)
  t.same(
    lines.map((line) => Number(line.split(',')[0])),
    [failed.id],
    'the file has the same turns',
  )
  const next = (await show(`turns?cursor=${failed.startedAt}.${failed.id}`)).body
  t.same(listTurnIds(next), [charged.id], 'a cursor goes on behind its turn')
  t.match((await show(`turns?cursor=${charged.startedAt - 86_400_000}.1`)).body, 'No older turn')
  pass(11 * 60_000)
  const later = await show('turns')
  t.notMatch(later.body, 'turns.csv', 'an export needs a fresh proof')
  t.match(later.body, /href="\/operator\/session"[^>]*>CSV needs/)
  const finance = await openConsole(gateway, await createOperator(gateway, 'fin@example.com', 'finance'))
  t.equal((await show('turns', finance)).status, 403)
  t.ok(owner.account)
})

/** The turns of each event that has any. */
async function* followTurns(
  gateway: TestGateway,
  client: WebsiteClient,
  { query, signal }: { readonly query: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly number[], void> {
  const headers = { cookie: `${consoleCookie}=${client.cookies.get(consoleCookie)}` }
  const { body, status } = await fetch(`${gateway.url}/operator/live/turns?${query}`, { headers, signal })
  if (body === null || status !== 200) throw new Error(`no stream: HTTP ${status}`)
  let text = ''
  for await (const part of body) {
    text += Buffer.from(part).toString()
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const { added } = JSON.parse(event.replace(/^data: /, '')) as LiveTurns
      if (added.length > 0) yield added
    }
  }
}

t.test('turns that match the filters are events as they end, until the role is taken', async (t) => {
  const { gateway, owner, console, failed, charged, chat, collect, show } = await open(t)
  t.match((await show('turns?ending=failed')).body, 'data-live-turns="/operator/live/turns?ending=failed"')
  t.notMatch((await show(`turns?cursor=${failed.startedAt}.${failed.id}`)).body, 'data-live-turns', 'only the first page')
  const leave = new AbortController()
  const follow = (query: string, client = console) => followTurns(gateway, client, { query, signal: leave.signal })
  const [all, failures] = [follow(''), follow('ending=failed')]
  t.same((await all.next()).value, [failed.id, charged.id], 'the first event has the page')
  t.same((await failures.next()).value, [failed.id])
  await chat()
  await chat(500)
  await collect()
  const [newest, before] = (await gateway.listTurns()) as [Turn, Turn]
  t.same((await all.next()).value, [newest.id, before.id])
  t.same((await failures.next()).value, [newest.id])

  for (const query of ['from=yesterday', 'target=x']) await t.rejects(follow(query).next(), /HTTP 400/, query)
  const figures = { headers: { cookie: console.cookieHeader() }, signal: leave.signal }
  for (let count = 0; count < 3; count += 1) t.equal((await fetch(`${gateway.url}/operator/live`, figures)).status, 200)
  await t.rejects(follow('').next(), /HTTP 503/, 'one bound for both kinds of streams')
  // The last owner keeps the role.
  await createOperator(gateway, 'bob@example.com', 'owner')
  const { store, clock } = gateway.services
  await store.operators.setRole(owner.account, { name: 'finance', provider: null }, clock.now())
  t.same(await all.next(), { value: undefined, done: true })
  await t.rejects(follow('').next(), /HTTP 40[13]/)
  leave.abort()
})

t.test('what cannot be searched for has a word beside its field', async (t) => {
  const { show } = await open(t)
  const bad: Readonly<Record<string, string>> = {
    'from=2026-11-29+14:05+Mars/Base': 'There is no time zone Mars/Base.',
    'from=2026-02-30': 'There is no such time.',
    'to=2026-11-29+25:00': 'There is no such time.',
    'to=yesterday': 'There is no such time.',
    'from=2026-11-29&to=2026-11-28': 'The end must be after the beginning.',
    "ending=' or 1=1 --": 'This is no code',
    "key=';drop table turn": 'This is no id of a key.',
    'key=web': 'There is no API key with this id.',
    'member=unknown@example.com': 'No member has this address or id.',
    'target=upstream': 'Write upstream/model, or none.',
    [`product=${'x'.repeat(129)}`]: 'At most 128 characters.',
    'request=a%00b': 'characters that cannot be shown',
  }
  for (const [query, word] of Object.entries(bad)) {
    const { status, body } = await show(`turns?${query}`)
    t.equal(status, 400, query)
    const fault = /aria-invalid="true"[^]*?<p class="field-error"[^>]*>([^<]*)/.exec(body)?.[1]
    t.match(fault, word, query)
    t.same(listTurnIds(body), [], query)
  }
  for (const cursor of ['1', "1.1' or 1=1", '1e3.1', '-1.1']) {
    const { status, body } = await show(`turns?cursor=${encodeURIComponent(cursor)}`)
    t.equal(status, 400, cursor)
    t.match(body, 'Nothing was searched', cursor)
  }
  for (const query of ['from=2026-01-01', 'from=2026-11-30', 'target=x', 'from=1+Mars'])
    t.equal((await show(`failures?${query}`)).status, 400, query)
})

t.test('the story of a turn has each step, who paid, and the failure in both languages', async (t) => {
  const { gateway, member, failed, charged, show, console } = await open(t)
  const good = (await show(`turns/${charged.id}`)).body
  t.match(good, /Accepted[^]*Held[^]*answered[^]*HTTP 200[^]*Charged[^]*\(plan \d/)
  t.match(good, /<rect class="answered" x="\d+" width="\d+"/)
  t.match(good, `href="/operator/members/${member.id}"`)
  t.notMatch(good, 'as the caller received it')
  const bad = (await show(`turns/${failed.id}`)).body
  t.match(bad, /failed: status[^]*HTTP 500[^]*Released[^]*Nothing was charged/)
  t.match(bad, /lang="en">The model service[^]*lang="zh-CN">模型服务/)
  for (const id of ['0', '99999999', 'x', '%27', '1e1']) t.equal((await show(`turns/${id}`)).status, 404, id)
  const page = (await console.get(`${gateway.url}/operator/members/${member.id}`)).body
  // In the statement and among the turns.
  t.same(listTurnIds(page), [failed.id, charged.id, failed.id, charged.id])
  t.match(page, `href="/operator/turns?member=${member.id}"`)
})

t.test('failures are grouped, and each count opens exactly its turns', async (t) => {
  const { failed, show, pass } = await open(t)
  pass(60_000)
  const { body } = await show('failures')
  t.match(body, new RegExp(`/docs/errors#${failed.code}`))
  const [turns = ''] = listLinks(body, '/operator/turns?')
  pass(60_000)
  t.same(listTurnIds((await show(turns.slice('/operator/'.length))).body), [failed.id])
  t.same(listTurnIds(body), [failed.id], 'the example')
  t.match((await show('failures?to=2026-11-29+14:06')).body, 'No turn failed.')
})
