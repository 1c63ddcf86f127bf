/** `/operator` of an operator: one sentence, the figures that the role may see, and the same as events. */
import t from 'tap'
import type { OperatorRole } from '../../../../../../src/domain/identity/operators/operator-role.ts'
import { consoleCookie, createOperator, openConsole } from '../../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../../support/gateway/test-gateway.ts'
import type { WebsiteClient } from '../../../../../support/gateway/website-client.ts'

interface LiveFigures {
  readonly shape: string
  readonly texts: Readonly<Record<string, string>>
  readonly links: Readonly<Record<string, string>>
}

/** The first event of the stream. */
async function readEvent(gateway: TestGateway, client: WebsiteClient): Promise<LiveFigures> {
  const response = await fetch(`${gateway.url}/operator/live`, {
    headers: { cookie: `${consoleCookie}=${client.cookies.get(consoleCookie)}` },
  })
  if (response.body === null || response.status !== 200) throw new Error(`no stream: HTTP ${response.status}`)
  let text = ''
  for await (const part of response.body) {
    text += Buffer.from(part).toString()
    if (text.includes('\n\n')) break
  }
  return JSON.parse(text.replace(/^data: /, '')) as LiveFigures
}

t.test('shows what needs the operator and the figures behind it', async (t) => {
  const gateway = await startGateway(t)
  const owner = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner'))
  const show = async (client = owner) => (await client.get(`${gateway.url}/operator`)).body as string
  t.match(await show(), /All well\./)
  const { token } = await gateway.createMember()
  for (let count = 0; count < 3; count += 1) await gateway.chat(token)
  gateway.demo.script(() => ({ status: 500 }))
  await gateway.chat(token)
  await gateway.waitUntilSettled()
  const page = await show()
  t.match(page, /data-live="day-completed">75% \(3\)</)
  t.match(page, /data-live="day-upstream_error">25% \(1\)</)
  t.match(page, /data-live="failure-main\/[\w-]+">\w+, /, 'the last failure of the target')
  t.match(page, /data-live="mail">0</)
  const live = await readEvent(gateway, owner)
  t.match(live.texts, { 'day-completed': '75% (3)', running: '0', ledger: 'adds up' })
  for (const [name, text] of Object.entries(live.texts).filter(([name]) => !/^at$|failure/.test(name)))
    t.ok(
      page.includes(`data-live="${name}">${text.replaceAll('<', '&lt;')}<`) || /^per-minute|span|overhead|backup/.test(name),
      name,
    )

  const { breaker } = gateway.services.upstreams.getHealth('main/light')
  breaker.rest(60_000, gateway.services.clock.monotonicMs())
  const needy = await show()
  t.match(needy, /One thing needs you\.[^]*href="\/operator#upstreams">The breaker of main\/light is open/)
  t.not((await readEvent(gateway, owner)).shape, live.shape, 'the page is drawn again where rows differ')
})

t.test('a figure leads to what is behind it, and one column has the endings until the spans differ', async (t) => {
  const gateway = await startGateway(t, { payments: { demo: true } })
  const owner = await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner'))
  const { token } = await gateway.createMember()
  await gateway.chat(token)
  await gateway.waitUntilSettled()
  gateway.demo.script(() => ({ hang: { afterEvents: 1 } }))
  const left = new AbortController()
  const running = await gateway.chat(token, { stream: true }, { signal: left.signal })
  await running.body?.getReader().read()
  const page = (await owner.get(`${gateway.url}/operator`)).body as string
  t.notMatch(page, /data-live="quarter-/, 'both spans began with the server')
  t.match(page, /data-live="day-span">\d+ seconds?</)
  const { links, texts } = await readEvent(gateway, owner)
  t.notMatch(Object.keys(texts).join(' '), /quarter-/)
  const [held] = (await gateway.listTurns()).filter(({ state }) => state === 'held')
  t.equal(links['oldest-hold'], `/operator/turns/${held?.id}`)
  for (const name of ['per-minute', 'day-completed', 'credits', 'cost', 'sold', 'oldest-hold', 'ungranted']) {
    t.ok(page.includes(`data-live-link="${name}"`), name)
    t.equal((await owner.get(gateway.url + links[name])).status, 200, `${name} ${links[name]}`)
  }
  left.abort()
  await gateway.waitUntilSettled()
  const support = await openConsole(gateway, await createOperator(gateway, 'bob@example.com', 'finance'))
  t.notMatch((await readEvent(gateway, support)).links, { 'per-minute': /./ }, 'finance has no links to turns')
})

t.test('each role sees its own figures, on the page and in the events', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  await gateway.chat(token)
  await gateway.waitUntilSettled()
  const parts = { 'per-minute': 'turns:read', credits: 'money:read', disk: 'audit:read' } as const
  const expected: Readonly<Record<Exclude<OperatorRole, 'owner' | 'operator'>, readonly string[]>> = {
    support: ['turns:read'],
    finance: ['money:read'],
    reader: ['turns:read', 'money:read', 'audit:read'],
  }
  for (const [role, scopes] of Object.entries(expected)) {
    const client = await openConsole(gateway, await createOperator(gateway, `${role}@example.com`, role as OperatorRole))
    const page = (await client.get(`${gateway.url}/operator`)).body as string
    const { texts } = await readEvent(gateway, client)
    for (const [name, scope] of Object.entries(parts)) {
      t.equal(page.includes(`data-live="${name}"`), scopes.includes(scope), `${role}, ${name}`)
      t.equal(name in texts, scopes.includes(scope), `${role}, ${name} as an event`)
    }
    t.equal(/id="upstreams"/.test(page), role === 'reader', role)
  }
})

t.test('the events are for operators alone, and bounded', async (t) => {
  const gateway = await startGateway(t)
  t.equal((await fetch(`${gateway.url}/operator/live`)).status, 404, 'without a role there is no console')
  const operator = await createOperator(gateway, 'ann@example.com', 'owner')
  t.equal((await operator.browser.get(`${gateway.url}/operator/live`)).status, 401)
  const leave = new AbortController()
  const open = (client: WebsiteClient) =>
    fetch(`${gateway.url}/operator/live`, {
      headers: { cookie: `${consoleCookie}=${client.cookies.get(consoleCookie)}` },
      signal: leave.signal,
    })
  for (let count = 0; count < 20; count += 1) t.equal((await open(await openConsole(gateway, null))).status, 200)
  t.equal((await open(await openConsole(gateway, operator))).status, 503)
  leave.abort()
})
