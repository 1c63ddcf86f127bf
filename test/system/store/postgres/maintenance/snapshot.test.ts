import t from 'tap'
import { withSnapshot } from '../../../../../src/store/postgres/maintenance/snapshot.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'

const postgres = await providePostgres(t, async () => {})
if (postgres !== undefined) {
  t.test('waits for the answer after an early notification', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    const { wait } = Atomics
    let calls = 0
    t.teardown(() => void (Atomics.wait = wait))
    Atomics.wait = ((...words: Parameters<typeof wait>) => {
      calls += 1
      return calls % 2 === 1 ? 'ok' : wait(...words)
    }) as typeof wait
    const numbers = await withSnapshot({ url }, (ask) =>
      [1, 2, 3].map((number) => ask<{ number: number }>('select $1::int as number', [number])[0]?.number),
    )
    t.same(numbers, [1, 2, 3])
    t.ok(calls > 1, 'it was notified early')
  })

  t.test('throws the database’s error', async (t) => {
    const url = await postgres.createDatabase(t, { empty: true })
    await t.rejects(
      withSnapshot({ url }, (ask) => ask('select * from nothing')),
      /relation "nothing" does not exist/,
    )
  })
}
