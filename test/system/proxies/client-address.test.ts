/** The client's address, the scheme and the host as the gateway receives them from every shipped configuration. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import t from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { configurations, nodeThatIsDown } from '../../support/proxies/configurations.ts'
import { publicHost } from '../../support/proxies/shipped-file.ts'
import { check, checkDocumentedTable } from './known-failures.ts'

t.jobs = 4

/** The address of the proxies, which are trusted. Clients have addresses of their own, others for each configuration. */
const trusted = '127.0.0.1'
const limit = 5
/** Requests to it do not count. */
const uncounted = '/healthz'

interface Passed {
  readonly passed: number
  /** What the limit gives back in the time that the requests took. */
  readonly regained: number
}

const g = await startGateway(t, { listen: { trustedProxies: [trusted] }, limits: { addressRpm: limit } })

/** The headers that the gateway received, by the `probe` in the URL. */
const received = new Map<string, IncomingHttpHeaders>()
const onRequest = (message: unknown): void => {
  const { request } = message as { readonly request: IncomingMessage }
  received.set(request.url ?? '', request.headers)
}
subscribe('http.server.request.start', onRequest)
t.teardown(() => unsubscribe('http.server.request.start', onRequest))

for (const [index, configuration] of configurations.entries()) {
  t.test(configuration.name, async (t) => {
    const of = configuration.name
    const [one, other] = [`127.0.${index + 1}.2`, `127.0.${index + 1}.3`] as const
    const proxy = await configuration.start(t, [new URL(g.url).host, nodeThatIsDown])
    if (proxy === undefined) return
    const client = proxy.createClient({ localAddress: one })
    const probe = async (name: string, headers: Readonly<Record<string, string>>): Promise<IncomingHttpHeaders> => {
      const path = `${uncounted}?probe=${index}-${name}`
      const answer = await client.fetch(path, { headers })
      const text = await answer.text()
      const found = received.get(path)
      if (found === undefined)
        throw new Error(`the gateway received nothing, the answer is ${answer.status}: ${text.slice(0, 200)}`)
      return found
    }

    for (const [what, headers] of [
      ['a client', {}],
      ['a client that makes up an address', { 'x-forwarded-for': '9.9.9.9', 'x-real-ip': '9.9.9.9' }],
      ['a client that names a trusted address', { 'x-forwarded-for': trusted }],
    ] as const) {
      await check(t, { of, title: `the last address that is not trusted is that of ${what}` }, async () => {
        const list = String((await probe(what.replaceAll(' ', '-'), headers))['x-forwarded-for'] ?? '')
        const last = list.split(/, */).findLast((address) => address !== trusted)
        return last === one ? [] : [`X-Forwarded-For is "${list}"`]
      })
    }
    await check(t, { of, title: 'scheme and host are those that the client used' }, async () => {
      const headers = configuration.forwardedProto === undefined ? {} : { 'x-forwarded-proto': 'gopher' }
      const { 'x-forwarded-proto': proto, host } = await probe('scheme', headers)
      return proto === configuration.forwardedProto && host === publicHost ? [] : [`X-Forwarded-Proto is ${proto}, Host ${host}`]
    })

    /** Rejects where a request neither passed nor met the limit. */
    const passedOf = async (localAddress: string, headersOf: (nth: number) => Record<string, string>): Promise<Passed> => {
      const client = proxy.createClient({ localAddress })
      const from = performance.now()
      let passed = 0
      for (let nth = 0; nth < 3 * limit; nth += 1) {
        const answer = await client.fetch('/v1/models', { headers: headersOf(nth) })
        const text = await answer.text()
        if (answer.status === 401) passed += 1
        else if (answer.status !== 429) throw new Error(`request ${nth} was answered ${answer.status}: ${text.slice(0, 200)}`)
      }
      return { passed, regained: Math.floor((performance.now() - from) / (60_000 / limit)) }
    }
    const madeUp = (nth: number) => ({
      'x-forwarded-for': `9.9.9.${nth}`,
      'x-real-ip': `9.9.9.${nth}`,
      forwarded: `for=9.9.9.${nth}`,
    })
    await check(t, { of, title: 'made-up addresses do not pass the limit of an address' }, async () => {
      const { passed, regained } = await passedOf(one, madeUp)
      return passed <= limit + regained ? [] : [`${passed} of ${3 * limit} passed a limit of ${limit}, ${regained} regained`]
    })
    await check(t, { of, title: 'each client has a limit of its own' }, async () => {
      const { passed, regained } = await passedOf(other, () => ({}))
      return passed >= limit && passed <= limit + regained ? [] : [`${passed} of ${limit} passed, ${regained} regained`]
    })
  })
}

t.test('the table in docs/proxies.md has these results', { buffered: false }, async (t) => checkDocumentedTable(t, 'addresses'))
