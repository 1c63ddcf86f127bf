/** Measures times from when a turn was due. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { Agent } from 'undici'
import { runOpenLoop } from '../../../../../bench/run/load/open-loop.ts'
import { useModelForEveryShape } from '../../../../../bench/run/subjects/subject.ts'

t.test('a stalled program delays all turns due meanwhile, also those that could not be sent', async (t) => {
  const stallMs = 300
  let asked = 0
  const server = createServer((_, response) => {
    if (asked++ === 0) setTimeout(() => response.end('{}'), stallMs)
    else response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // One connection: times counted from sending would show one late turn.
  const dispatcher = new Agent({ connections: 1, pipelining: 1 })
  t.teardown(async () => {
    await dispatcher.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const subject = {
    name: 'stalls',
    url: `http://127.0.0.1:${port}/`,
    models: useModelForEveryShape('m'),
    headers: {},
    keys: [],
    pid: process.pid,
    stop: async () => undefined,
  }
  const { latenciesMs, sendDelaysMs, failed } = await runOpenLoop(subject, 100, 0.2, 0, dispatcher)
  t.equal(failed, 0)
  t.equal(latenciesMs.length, 20)
  t.equal(sendDelaysMs.length, 20)
  for (const [nth, ms] of latenciesMs.entries()) t.ok(ms > stallMs - nth * 10 - 20, `turn ${nth} took ${ms.toFixed(0)} ms`)
})
