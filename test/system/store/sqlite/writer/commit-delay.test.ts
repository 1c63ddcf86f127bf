/** The commit delay: many operations share a commit, and a single one is not delayed. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { CommitDelay } from '../../../../../src/store/sqlite/writer/commit-delay.ts'
import type { WriterOp, WriterReply, WriterRequest } from '../../../../../src/store/sqlite/connection/writer-protocol.ts'
import { Writer } from '../../../../../src/store/sqlite/writer/writer.ts'
import type { ConnectWriter } from '../../../../../src/store/sqlite/writer/writer-connection.ts'

const read: WriterOp = ['sql', 'select 1', []]

/** A writer whose thread replies in the next loop turn, and the number of operations of each batch. */
function aWriter(): { writer: Writer; batches: number[]; said: string[] } {
  const batches: number[] = []
  const said: string[] = []
  const connect: ConnectWriter = ({ onMessage: answered }) => ({
    post(request: WriterRequest) {
      said.push(request[0])
      if (request[0] === 'batch') batches.push(request[2].length)
      const results = request[0] === 'batch' ? request[2].map(() => ['count', 1] as const) : []
      const reply: WriterReply = [results, 0.001, false, 0, 0, 0]
      void setImmediate().then(() => answered(reply))
    },
    close: async () => undefined,
    terminate: async () => undefined,
  })
  // The clock is stopped, so that a pause of the machine ends no delay.
  const writer = new Writer(connect, undefined, undefined, undefined, new CommitDelay(() => 0))
  return { writer, batches, said }
}

/** Waits for this many empty loop turns. */
async function rounds(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}

t.test('sends a single operation at the end of its loop turn', async (t) => {
  const { writer, batches } = aWriter()
  await writer.ready()
  for (let i = 1; i <= 3; i++) {
    const answer = writer.submit(read, false)
    await setImmediate()
    t.equal(batches.length, i, 'was sent')
    await answer
  }
})

t.test('delays a batch while loop turns add operations, and sends it when they stop', async (t) => {
  const { writer, batches } = aWriter()
  await writer.ready()
  await Promise.all(Array.from({ length: 6 }, () => writer.submit(read, false)))
  t.same(batches, [6], 'the first batch is not delayed')
  const answers: Promise<unknown>[] = []
  for (let i = 0; i < 4; i++) {
    answers.push(writer.submit(read, false))
    await rounds(3)
  }
  t.same(batches, [6], 'three empty loop turns are not enough')
  await Promise.all(answers)
  t.same(batches, [6, 4], 'all four in one commit')
})

t.test('serves an exclusive request after the queued operations, without a delay after it', async (t) => {
  const { writer, batches, said } = aWriter()
  await writer.ready()
  await Promise.all(Array.from({ length: 6 }, () => writer.submit(read, false)))
  const before = writer.submit(read, false)
  const transaction = await writer.begin()
  await before
  t.same(batches, [6, 1])
  await transaction.commit()
  const answer = writer.submit(read, false)
  await setImmediate()
  t.same(batches, [6, 1, 1], 'at once')
  await answer
  t.same(said, ['open', 'batch', 'batch', 'begin', 'commit', 'batch'])
})

t.test('ends the delay at its maximum size or time', (t) => {
  let now = 0
  const delay = new CommitDelay(() => now)
  delay.recordBatch(3)
  t.notOk(delay.shouldWait(1), 'three operations are too few')
  delay.recordBatch(4)
  t.ok(delay.shouldWait(1))
  t.ok(delay.shouldWait(127))
  t.notOk(delay.shouldWait(128), 'enough')
  now = 7.9
  t.ok(delay.shouldWait(127))
  now = 8
  t.notOk(delay.shouldWait(2), 'long enough')
  t.end()
})
