/** Three gateway processes with a database each, and one Valkey: an address has one limit over all of them. */
import t from 'tap'
import { findFreePort } from '../../../support/free-port.ts'
import { startGatewayProcess } from '../../../support/processes/gateway-process.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'
import { startValkey } from '../../../support/servers/valkey.ts'

/** The shipped limit for an address. */
const perMinute = 300

t.test('three gateways admit together what one may, and none fails when the limit server fails', async (t) => {
  const valkey = await startValkey(t)
  if (valkey === undefined) return
  const gateways = await Promise.all(
    [1, 2, 3].map(async () => {
      const metricsPort = await findFreePort()
      const starting = startGatewayProcess({
        command: [process.execPath, 'src/operator/start.ts'],
        dataDir: createTemporaryFolder(t),
        env: { LIMITS_URL: valkey.url, METRICS_PORT: String(metricsPort) },
      })
      // Registered before they run: when one cannot start, the others are still stopped.
      t.teardown(() => starting.then(({ stop }) => stop()).catch(() => undefined))
      return { ...(await starting), metrics: `http://127.0.0.1:${metricsPort}/metrics` }
    }),
  )
  /** Requests without credentials: 401 means that the address limit admitted them, 429 that it did not. */
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
  const storeUp = (): Promise<number[]> => figures('svc_rate_limit_store_up')

  const began = performance.now()
  const statuses = await askAll(perMinute)
  const back = (perMinute * (performance.now() - began)) / 60_000
  const admitted = statuses.filter((status) => status === 401).length
  // A stalled machine makes a server look slow; the gateway logs what it decided alone meanwhile.
  const alone = (await figures('svc_rate_limit_fallback_total')).reduce((sum, one) => sum + one, 0)
  const allowed = (perMinute + back) * 1.05 + alone
  t.ok(admitted >= perMinute * 0.95 && admitted <= allowed, `${admitted} of ${(perMinute + back).toFixed(0)}, ${alone} alone`)
  t.same(new Set(statuses), new Set([401, 429]))

  await valkey.kill()
  await waitUntil(
    async () => {
      // The gateway notices at the next request.
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
  t.same(await storeUp(), [0, 0, 0])
  await valkey.restart()
  await waitUntil(async () => (await storeUp()).every((up) => up === 1), 'it to be back', 50)
  t.same(await Promise.all(gateways.map(({ origin }) => notes(origin))), ['', '', ''])

  /** The notes of `/readyz` while it accepts new turns. */
  async function notes(origin: string): Promise<string> {
    const answer = await fetch(`${origin}/readyz`)
    t.equal(answer.status, 200)
    const { notes = [] } = (await answer.json()) as { readonly notes?: readonly string[] }
    return notes.join()
  }
})
