/** Notices by the operator API: who writes them, where they are then read, and what a reader can do with them. */
import t from 'tap'
import type { Test } from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import { createOperator, openConsole, operatorApi } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'

const hourMs = 3_600_000
const inHours = (time: { readonly now: number }, hours: number): string => new Date(time.now + hours * hourMs).toISOString()

async function open(t: Test) {
  const time = { now: Date.now() }
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => time.now }) })
  const console = await openConsole(gateway, await createOperator(gateway, 'owner@example.com', 'owner'))
  let count = 0
  const write = (method: 'POST' | 'PATCH', path: string, body: object, key = `k${(count += 1)}`) =>
    console.send(method, operatorApi(gateway, path), { reason: 'planned', ...body }, { 'idempotency-key': key })
  const read = (headers: Record<string, string> = {}) => new WebsiteClient(gateway).get(`${gateway.url}/v1/notices`, headers)
  return { time, gateway, console, write, read }
}

t.test('a notice is added once, read by everyone, changed and ended, with records', async (t) => {
  const { time, gateway, console, write, read } = await open(t)
  t.same((await read()).body, { object: 'list', data: [] })
  const content = { kind: 'disturbance', en: 'Slow. See https://status.example.com/a.', until: inHours(time, 2) }
  const added = await write('POST', 'notices', content, 'once')
  t.match(added, { status: 201, body: { id: /^ntc_\w{26}$/, state: 'shown', revision: 1, text: { en: content.en, zh: null } } })
  t.match(await write('POST', 'notices', content, 'once'), { body: added.body })
  const { id } = added.body
  const first = await read()
  t.match(first.body.data, [{ id, kind: 'disturbance', until: /^20.*Z$/ }])
  t.equal(first.body.data.length, 1)
  t.match(first.headers.get('cache-control'), 'public, max-age=10')
  t.equal(first.headers.get('access-control-allow-origin'), null)
  t.equal((await read({ origin: 'https://app.example' })).headers.get('access-control-allow-origin'), '*')
  const etag = first.headers.get('etag') ?? ''
  t.match(await read({ 'if-none-match': etag }), { status: 304, body: '' })

  const changed = await write('PATCH', `notices/${id}`, { zh: '较慢', until: inHours(time, 3) })
  t.match(changed, { status: 200, body: { revision: 2, text: { en: content.en, zh: '较慢' } } })
  t.equal((await read({ 'if-none-match': etag })).status, 200)
  t.match(await write('PATCH', `notices/${id}`, { en: '', zh: null }), { status: 400, body: { param: 'en' } })
  t.match(await write('POST', `notices/${id}/end`, {}), { status: 200, body: { state: 'over' } })
  t.same((await read()).body.data, [])
  t.match(await write('PATCH', `notices/${id}`, { until: inHours(time, 3) }), { status: 409, body: { code: 'conflict' } })
  t.match((await console.get(operatorApi(gateway, 'notices'))).body, { data: [{ id, state: 'over' }], next_cursor: null })
  const records = await gateway.services.store.audit.list({ limit: 9 })
  t.match(
    records.filter(({ event }) => event.startsWith('notice_')).map(({ event, reason, actor }) => [event, reason, actor?.kind]),
    [
      ['notice_ended', 'planned', 'session'],
      ['notice_changed', 'planned', 'session'],
      ['notice_added', 'planned', 'session'],
    ],
  )
})

t.test('what cannot be a notice is refused at its field, and the number is bounded', async (t) => {
  const { time, write } = await open(t)
  const until = inHours(time, 1)
  const cases: readonly (readonly [object, string])[] = [
    [{ kind: 'party', en: 'x', until }, 'kind'],
    [{ kind: 'information', until }, 'en'],
    [{ kind: 'information', en: 'x' }, 'until'],
    [{ kind: 'information', en: 'x'.repeat(501), until }, 'en'],
    [{ kind: 'information', en: 'a\nb', until }, 'en'],
    [{ kind: 'information', en: 'x', until: inHours(time, -1) }, 'until'],
    [{ kind: 'information', en: 'x', until, from: inHours(time, 2) }, 'until'],
    [{ kind: 'information', en: 'x', until: 'tomorrow' }, 'until'],
    [{ kind: 'information', en: 'x', until, reason: '' }, 'reason'],
  ]
  for (const [body, param] of cases)
    t.match(await write('POST', 'notices', body), { status: 400, body: { code: 'invalid_request', param } }, JSON.stringify(body))
  for (let count = 0; count < 10; count += 1) await write('POST', 'notices', { kind: 'information', en: `n${count}`, until })
  t.match(await write('POST', 'notices', { kind: 'information', en: 'one more', until }), {
    status: 409,
    body: { code: 'conflict' },
  })
  for (const id of ['none', 'ntc_00000000000000000000000000'])
    t.match(await write('POST', `notices/${id}/end`, {}), { status: 404 }, id)
})

t.test(
  'every page of the site shows it as text in the reader’s language or the other one, and folds it once it is dismissed',
  async (t) => {
    const { time, gateway, console, write } = await open(t)
    const en =
      '<b>Down</b> & "out": https://status.example.com/x?a=1&b=2. Not https://user@evil.example/ nor http://plain.example javascript:alert(1)'
    const { id } = (await write('POST', 'notices', { kind: 'maintenance', en, until: inHours(time, 2) })).body
    await write('POST', 'notices', { kind: 'information', en: 'in the evening', from: inHours(time, 1), until: inHours(time, 2) })
    const visitor = new WebsiteClient(gateway)
    const show = async (client: WebsiteClient, path: string, language = 'en'): Promise<string> =>
      (await client.get(gateway.url + path, { 'accept-language': language })).body
    const member = (await createOperator(gateway, 'mei@example.com', null)).browser
    for (const [client, path] of [
      [visitor, '/'],
      [visitor, '/plans'],
      [visitor, '/sign-in'],
      [member, '/account'],
      [member, '/chat'],
      [member, '/keys'],
    ] as const)
      t.match(await show(client, path), /<details class="announcement" open>[^]*Maintenance[^]*&lt;b&gt;Down/, path)
    const page = await show(visitor, '/')
    t.notMatch(page, /in the evening/)
    t.match(page, /<p class="announcement-text" >/)
    t.match(page, 'href="https://status.example.com/x?a=1&amp;b=2" rel="nofollow noopener noreferrer"')
    const text = /<p class="announcement-text"[^]*?<\/p>/.exec(page)?.[0] ?? ''
    t.equal([...text.matchAll(/<a /g)].length, 1)
    t.match(await show(visitor, '/', 'zh'), /维护[^]*<p class="announcement-text" lang="en">/)
    for (const path of ['/operator', '/operator/members', '/operator/audit'])
      t.notMatch(await show(console, path), 'class="announcement"', path)

    const answer = await visitor.get(`${gateway.url}/plans?plan=pro&dismiss=${id}-1`)
    t.match([answer.status, answer.headers.get('location')], [303, '/plans?plan=pro'])
    t.match(await show(visitor, '/'), /<details class="announcement" >[^]*&lt;b&gt;Down/, 'it is folded, not gone')
    t.match(await show(member, '/'), /<details class="announcement" open>/)
    await write('PATCH', `notices/${id}`, { en: 'Down for longer' })
    t.match(await show(visitor, '/'), /<details class="announcement" open>[^]*Down for longer/, 'a changed one is shown again')
    for (const bad of ['x', `${id}-0`, `${id}-1;a=b`, `${id}-1%0d%0aset-cookie:a=b`])
      t.equal((await visitor.get(`${gateway.url}/?dismiss=${bad}`)).status, 200, bad)
  },
)
