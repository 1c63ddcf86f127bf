/** Three gateways, each a process with a database of its own, and one Valkey: an address has one limit at all of them together. */
import t from 'tap'
import { freePort } from '../support/free-port.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { until } from '../support/gateway.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startValkey } from '../support/valkey.ts'

/** What the shipped configuration allows an address. */
const perMinute = 300

t.test('three gateways admit together what one may, and nobody fails when the server of the limits does', async (t) => {
  const valkey = await startValkey(t)
  if (valkey === undefined) return
  const gateways = await Promise.all(
    [1, 2, 3].map(async () => {
      const metricsPort = await freePort()
      const starting = startGatewayProcess({
        command: [process.execPath, 'src/main.ts'],
        dataDir: temporaryFolder(t),
        env: { LIMITS_URL: valkey.url, METRICS_PORT: String(metricsPort) },
      })
      // Known before they run: where one cannot start, the others are stopped all the same.
      t.teardown(() => starting.then(({ stop }) => stop()).catch(() => undefined))
      return { ...(await starting), metrics: `http://127.0.0.1:${metricsPort}/metrics` }
    }),
  )
  /** Requests of nobody: 401 is let in by the address's limit, 429 is not. */
  const ask = async (origin: string, count: number): Promise<number[]> => {
    const statuses: number[] = []
    const one = async (): Promise<void> => {
      for (let i = 0; i < count / 20; i++) {
        const answer = await fetch(`${origin}/v1/models`)
        await answer.arrayBuffer()
        statuses.push(answer.status)
      }
    }
    await Promise.all(Array.from({ length: 20 }, one))
    return statuses
  }
  const askAll = async (count: number): Promise<number[]> =>
    (await Promise.all(gateways.map(({ origin }) => ask(origin, count)))).flat()
  const figures = (name: string): Promise<number[]> =>
    Promise.all(
      gateways.map(async ({ metrics }) => {
        const text = await (await fetch(metrics)).text()
        return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1])
      }),
    )
  const lost = (): Promise<number[]> => figures('svc_limits_lost')

  const began = performance.now()
  const statuses = await askAll(perMinute)
  const back = (perMinute * (performance.now() - began)) / 60_000
  const admitted = statuses.filter((status) => status === 401).length
  // A machine that stands still for a moment makes a server look slow; what a gateway decided by itself meanwhile is told.
  const alone = (await figures('svc_limits_alone_total')).reduce((sum, one) => sum + one, 0)
  const allowed = (perMinute + back) * 1.05 + alone
  t.ok(admitted >= perMinute * 0.95 && admitted <= allowed, `${admitted} of ${(perMinute + back).toFixed(0)}, ${alone} alone`)
  t.same(new Set(statuses), new Set([401, 429]))

  await valkey.kill()
  await until(
    async () => {
      // Somebody has to ask before it is noticed.
      const all = await askAll(20)
      t.same(
        all.filter((status) => status >= 500),
        [],
      )
      return (await Promise.all(gateways.map(({ origin }) => notes(origin)))).every((told) =>
        /is lost since .* this node allows/.test(told),
      )
    },
    'all to notice',
    50,
  )
  t.same(await lost(), [1, 1, 1])
  await valkey.startAgain()
  await until(async () => (await lost()).every((lost) => lost === 0), 'it to be back', 50)
  t.same(await Promise.all(gateways.map(({ origin }) => notes(origin))), ['', '', ''])

  /** What `/readyz` notes while it says that new turns are taken. */
  async function notes(origin: string): Promise<string> {
    const answer = await fetch(`${origin}/readyz`)
    t.equal(answer.status, 200)
    const { notes = [] } = (await answer.json()) as { readonly notes?: readonly string[] }
    return notes.join()
  }
})
