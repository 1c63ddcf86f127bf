/** Times from when a turn was to leave. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { Agent } from 'undici'
import { openLoop } from '../../bench/run/open-loop.ts'
import { inEveryShape } from '../../bench/run/subject.ts'

t.test(
  'a program that holds everybody up has made all of those turns late, also those that could not be sent meanwhile',
  async (t) => {
    const stallMs = 300
    let asked = 0
    const server = createServer((_, response) => {
      if (asked++ === 0) setTimeout(() => response.end('{}'), stallMs)
      else response.end('{}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    // One connection: whoever counts from when a turn is sent sees one late turn.
    const dispatcher = new Agent({ connections: 1, pipelining: 1 })
    t.teardown(async () => {
      await dispatcher.destroy()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const subject = {
      name: 'stalls',
      url: `http://127.0.0.1:${port}/`,
      models: inEveryShape('m'),
      headers: {},
      keys: [],
      pid: process.pid,
      stop: async () => undefined,
    }
    const { answered, late, failed } = await openLoop(subject, 100, 0.2, 0, dispatcher)
    t.equal(failed, 0)
    t.equal(answered.length, 20)
    t.equal(late.length, 20)
    for (const [nth, ms] of answered.entries()) t.ok(ms > stallMs - nth * 10 - 20, `turn ${nth} took ${ms.toFixed(0)} ms`)
  },
)
