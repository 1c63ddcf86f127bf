/** A commit has a price of its own: operations that come in numbers share it, and one that comes alone waits for nobody. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Gathering } from '../../../src/store/sqlite/gathering.ts'
import type { Op, Reply, Request } from '../../../src/store/sqlite/protocol.ts'
import { Writer } from '../../../src/store/sqlite/writer.ts'
import type { Connect } from '../../../src/store/sqlite/writer-link.ts'

const read: Op = ['sql', 'select 1', []]

/** A writer whose thread answers in the next round of the event loop, and what it was sent: the operations of each batch. */
function aWriter(): { writer: Writer; batches: number[]; said: string[] } {
  const batches: number[] = []
  const said: string[] = []
  const connect: Connect = ({ said: answered }) => ({
    post(request: Request) {
      said.push(request[0])
      if (request[0] === 'batch') batches.push(request[2].length)
      const results = request[0] === 'batch' ? request[2].map(() => ['count', 1] as const) : []
      const reply: Reply = [results, 0.001, false, 0, 0, 0]
      void setImmediate().then(() => answered(reply))
    },
    close: async () => undefined,
    abandon: async () => undefined,
  })
  // Its clock stands still: a machine that pauses for long ends no waiting here.
  const writer = new Writer(connect, undefined, undefined, undefined, new Gathering(() => 0))
  return { writer, batches, said }
}

/** So many of the event loop that bring nothing. */
async function rounds(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await setImmediate()
}

t.test('one that comes alone leaves at the end of its round, and so does the next', async (t) => {
  const { writer, batches } = aWriter()
  await writer.ready()
  for (let i = 1; i <= 3; i++) {
    const answer = writer.submit(read, false)
    await setImmediate()
    t.equal(batches.length, i, 'has left')
    await answer
  }
})

t.test('while rounds go on bringing some, they wait for each other; when none comes, they leave', async (t) => {
  const { writer, batches } = aWriter()
  await writer.ready()
  await Promise.all(Array.from({ length: 6 }, () => writer.submit(read, false)))
  t.same(batches, [6], 'the first of them know nothing of a crowd')
  const answers: Promise<unknown>[] = []
  for (let i = 0; i < 4; i++) {
    answers.push(writer.submit(read, false))
    await rounds(3)
  }
  t.same(batches, [6], 'three quiet rounds are no end')
  await Promise.all(answers)
  t.same(batches, [6, 4], 'all four in one commit')
})

t.test('whoever wants the writer alone comes after those who wait, and finds no crowd', async (t) => {
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

t.test('what gathers leaves when it is enough, or has waited for long, whatever else comes', (t) => {
  let now = 0
  const gathering = new Gathering(() => now)
  gathering.sent(3)
  t.notOk(gathering.goesOn(1), 'three are no crowd')
  gathering.sent(4)
  t.ok(gathering.goesOn(1))
  t.ok(gathering.goesOn(127))
  t.notOk(gathering.goesOn(128), 'enough')
  now = 7.9
  t.ok(gathering.goesOn(127))
  now = 8
  t.notOk(gathering.goesOn(2), 'long enough')
  t.end()
})
