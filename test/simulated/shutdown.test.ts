/** A shutdown: turns that fit into its time end as ever, the rest with an error and a refund. */
import t from 'tap'
import { drain } from '../../src/server/worker-runtime.ts'
import { describeTurn, openTurns } from './gateway/open-turns.ts'
import type { SimulatedGateway } from './gateway/simulated-gateway.ts'
import { answer } from './gateway/simulated-upstream.ts'

/** Begins a shutdown whose sockets close once no turn runs. Returns whether it is over. */
function beginShutdown({ clock, services, forwarder }: SimulatedGateway, times: Parameters<typeof drain>[2]): () => boolean {
  let isOver = false
  const listener = {
    beginShutdownNotice: (noticeMs: number) => clock.wait(noticeMs),
    async close() {
      while (forwarder.running > 0) await clock.wait(10)
    },
    destroyAfterGrace: () => undefined,
  }
  const work = {
    apps: new Set([{ services, forwarder }]),
    bodyScheduler: services.bodyScheduler,
    clock,
    countRunningTurns: () => forwarder.running,
  }
  void drain(listener, work, times).then(() => (isOver = true))
  return () => isOver
}

t.test('turns that end within the time are whole, the others are refunded, and then the shutdown is over', async (t) => {
  const { gateway, token } = await openTurns(t, (count) => answer(20, { betweenMs: count === 0 ? 100 : 1_000 }))
  const [quick, slow] = [gateway.send(token), gateway.send(token)]
  await gateway.clock.run(500)
  const isOver = beginShutdown(gateway, { drainMs: 5_000, noticeMs: 1_000 })
  await gateway.clock.run(4_000)
  t.match(describeTurn(gateway, quick), /^completed after 2\d{3} ms: whole, settled$/)
  t.equal(describeTurn(gateway, slow), 'running')
  t.equal(isOver(), false)
  await gateway.clock.run(1_500)
  t.match(describeTurn(gateway, slow), /^failed internal_error after 5\d{3} ms: part, refunded$/)
  t.match(slow.client.body, /restarting.*"quotaRefunded":true/s)
  t.equal(isOver(), true)
})

t.test('a whole answer whose client has disconnected is waited for and charged', async (t) => {
  const { gateway, token } = await openTurns(t, answer(200, { firstMs: 3_000 }))
  const turn = gateway.send(token, { stream: false })
  await gateway.clock.run(500)
  turn.client.disconnect()
  const isOver = beginShutdown(gateway, { drainMs: 60_000, noticeMs: 0 })
  await gateway.clock.run(1_000)
  t.equal(isOver(), false)
  await gateway.clock.run(5_000)
  t.equal(gateway.readTurn(turn)?.state, 'settled')
  t.equal(isOver(), true, 'long before its time')
})

t.test('a pause of the machine shortens no turn', async (t) => {
  const { gateway, token } = await openTurns(t, answer(20, { betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(500)
  const isOver = beginShutdown(gateway, { drainMs: 3_000, noticeMs: 0 })
  gateway.clock.skip(60_000)
  await gateway.clock.run(3_500)
  t.match(describeTurn(gateway, turn), /^completed after 62\d{3} ms: whole, settled$/)
  t.equal(isOver(), true)
})
