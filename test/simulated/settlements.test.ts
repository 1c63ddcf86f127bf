/** Holds and settlements while the ledger refuses, is silent, or a turn takes long. */
import t from 'tap'
import { describeTurn, openTurns, timeouts } from './gateway/open-turns.ts'
import { answer } from './gateway/simulated-upstream.ts'

t.test('a settlement that the ledger refuses goes to the journal, and is written when it can', async (t) => {
  const { gateway, token } = await openTurns(t, answer(2, { betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(50)
  gateway.memory.writer.isRefusing = true
  await gateway.clock.run(1_000)
  t.match(describeTurn(gateway, turn), /^completed after \d+ ms: whole, held$/, 'durable in the journal')
  t.equal(gateway.memory.journal.length, 1)
  gateway.memory.writer.isRefusing = false
  await gateway.clock.run(10_000)
  t.equal(gateway.readTurn(turn)?.state, 'settled')
  t.equal(gateway.memory.journal.length, 0)
})

t.test('a ledger that does not answer delays the end of a turn by a second, not by a pause of the machine', async (t) => {
  const { gateway, token } = await openTurns(t, answer(2, { betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(50)
  gateway.memory.writer.hold()
  await gateway.clock.run(500)
  gateway.clock.skip(60_000)
  await gateway.clock.run(200)
  t.equal(describeTurn(gateway, turn), 'running')
  await gateway.clock.run(1_000)
  t.match(describeTurn(gateway, turn), /^completed after 61\d{3} ms: whole, settled$/)
  gateway.memory.writer.resume()
  await gateway.clock.run(1_000)
})

t.test('a hold expires after its lease, and no running turn loses its own', async (t) => {
  const { gateway, token } = await openTurns(t, answer(1_000, { betweenMs: 1_000 }))
  const turn = gateway.send(token)
  const { clock, services } = gateway
  await clock.run(timeouts.totalMs - 1_000)
  t.equal(await services.ledger.expire(clock.now(), clock.monotonicMs()), 0)
  t.equal(gateway.readTurn(turn)?.state, 'held')
  await clock.run(10_000)
  t.equal(gateway.readTurn(turn)?.state, 'settled')
})
