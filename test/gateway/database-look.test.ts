/** The database is looked at because somebody asks, and nobody waits for it who must not. */
import t from 'tap'
import { GatewayError } from '../../src/errors.ts'
import { DatabaseLook } from '../../src/gateway/database-look.ts'
import type { Condition } from '../../src/membership/condition.ts'

const lossy: Condition = {
  version: '17.2',
  roundTripMs: 1,
  clockAheadMs: 0,
  isDurable: false,
  standbys: { synchronous: 0, behind: 1 },
  waitsFor: 0,
  connections: { left: 70, most: 97 },
  isPooled: false,
  nodes: [{ version: '0.2.0', count: 1 }],
}
const note = /^durability: /

/** A database that answers when the test lets it. */
function ground({ waitMs }: { readonly waitMs?: number } = {}) {
  const asked: PromiseWithResolvers<Condition>[] = []
  let ticks = 1_000
  const condition = (): Promise<Condition> => {
    const answer = Promise.withResolvers<Condition>()
    asked.push(answer)
    return answer.promise
  }
  return {
    asked,
    look: new DatabaseLook({ condition }, { ticks: () => ticks }, waitMs === undefined ? {} : { waitMs }),
    pass: (ms: number) => void (ticks += ms),
    /** Of the look that was begun last, heard when this resolves. */
    answer: async (condition: Condition = lossy) => {
      asked.at(-1)?.resolve(condition)
      await new Promise((resolve) => setImmediate(resolve))
    },
    fail: async (error: unknown) => {
      asked.at(-1)?.reject(error)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

t.test('whoever asks in passing is told what was seen last, and never waits', async (t) => {
  const { look, asked, pass, answer } = ground()
  t.same(look.notes(), [], 'nothing was seen yet')
  t.same(look.notes(), [])
  t.equal(asked.length, 1, 'two looks never run at once')
  await answer()
  t.match(look.notes(), [note])
  pass(4_999)
  t.match(look.notes(), [note])
  t.equal(asked.length, 1, 'what was seen is good for a while')
  pass(1)
  t.match(look.notes(), [note])
  t.equal(asked.length, 2, 'then it is looked at again')
  await answer({ ...lossy, isDurable: true })
  t.same(look.notes(), [], 'a choice, such as asynchronous replication, is no note')
})

t.test('what was seen long ago is not told', async (t) => {
  const { look, pass, answer } = ground()
  look.notes()
  await answer()
  pass(10_001)
  t.same(look.notes(), [])
  await answer()
  t.match(look.notes(), [note])
})

t.test('a database that is silent is told of, until it answers', async (t) => {
  const { look, asked, pass, answer } = ground()
  look.notes()
  pass(3_000)
  t.same(look.notes(), [], 'it may take its time')
  pass(1)
  t.same(look.notes(), ['database: does not answer'])
  pass(60_000)
  t.same(look.notes(), ['database: does not answer'])
  t.equal(asked.length, 1, 'and nobody asks it twice')
  await answer()
  look.notes()
  await answer()
  t.match(look.notes(), [note])
})

t.test('one that cannot be asked is told of by its code, which names nobody', async (t) => {
  const { look, pass, fail } = ground()
  const words = 'password authentication failed for user "ada" at 10.0.0.7'
  for (const [code, told] of [
    ['28P01', 'database: does not answer (28P01)'],
    ['10.0.0.7:5432', 'database: does not answer'],
    [undefined, 'database: does not answer'],
  ] as const) {
    look.notes()
    const cause = Object.assign(new Error(words), code === undefined ? {} : { code })
    await fail(new GatewayError('temporarily_unavailable', { cause }))
    t.same(look.notes(), [told])
    t.equal(look.latest(), null, 'what it was like before says nothing')
    pass(5_000)
  }
})

t.test('whoever wants to know all waits for a look of now, and not for ever', async (t) => {
  const { look, asked, answer } = ground({ waitMs: 20 })
  t.same(await look.findings(), [{ what: 'database', ok: false, detail: 'does not answer' }])
  const joined = look.findings()
  t.equal(asked.length, 1, 'the look that is under way serves both')
  await answer()
  t.equal((await joined).length, 6)
  const again = look.findings()
  t.equal(asked.length, 2, 'what was seen a moment ago is not now')
  await answer({ ...lossy, version: '17.3' })
  t.match((await again)[0], { detail: /17\.3/ })
  t.equal(look.latest()?.version, '17.3')
})
