/** A server whose disk is full, and one that refuses once. A trigger raises the server's error codes. */
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { PostgresStore } from '../../../../../src/store/postgres/open.ts'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import {
  addAccount,
  createReserveOrder,
  createSettleOrder,
  readBalance,
} from '../../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  /** `refuse` fails the next `times` statements that write turns. */
  const openRefusingStore = async (t: Test) => {
    const url = await postgres.createDatabase(t)
    const store = await openTestStore(t, url, { ledger: openLedger })
    await addAccount(store)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    const allow = () => client.query('drop trigger if exists refusal on turn')
    const refuse = async (code: string, times = 1e9): Promise<void> => {
      await allow()
      // A sequence is not taken back with the transaction.
      await client.query(`drop sequence if exists refusals; create sequence refusals;
        create or replace function refuse() returns trigger language plpgsql as $$ begin
          if nextval('refusals') <= ${times} then raise exception 'refused' using errcode = '${code}'; end if;
          return null; end $$;
        create trigger refusal before insert or update on turn for each statement execute function refuse()`)
    }
    return { store, refuse, allow }
  }
  const hold = async (store: PostgresStore): Promise<number> => {
    const answer = await store.ledger.reserve(createReserveOrder())
    if (answer.kind !== 'held') throw new Error(`it answered ${answer.kind}`)
    return answer.hold.id
  }

  t.test('refuses turns while the disk is full, and charges what had begun when there is room', async (t) => {
    const { store, refuse, allow } = await openRefusingStore(t)
    const held = await hold(store)
    await refuse('53100')
    const settled = store.ledger.settle(createSettleOrder(held, 7))
    await t.rejects(store.ledger.reserve(createReserveOrder()), { code: 'temporarily_unavailable', details: { retryAfter: 30 } })
    t.match(store.ledger.stats(), { writable: false, isDiskFull: true, pendingSettlements: 1 })
    await allow()
    t.match(await settled, { applied: true })
    await waitUntil(() => store.ledger.stats().writable, 'the ledger to be writable')
    t.match(store.ledger.stats(), { isDiskFull: false, pendingSettlements: 0 })
    await waitUntil(async () => (await readBalance(store)).reserved[0] === 0, 'the refused turn to be refunded')
    t.match(await readBalance(store), { used: [7, 7, 7] })
    t.match(await store.ledger.verify(), { ok: true })
  })

  for (const [code, what] of [
    ['53100', 'a full disk'],
    ['53200', 'no memory'],
    ['58030', 'an error of its disk'],
    ['57P01', 'a shutdown'],
    ['40001', 'a conflict'],
    ['XX000', 'an internal error'],
  ] as const)
    t.test(`a server that refuses once with ${what} loses no turn`, async (t) => {
      const { store, refuse } = await openRefusingStore(t)
      await refuse(code, 1)
      const held = await hold(store)
      await refuse(code, 1)
      t.match(await store.ledger.settle(createSettleOrder(held, 7)), { applied: true })
      t.match(store.ledger.stats(), { writable: true, pendingSettlements: 0 })
      t.match(await readBalance(store), { used: [7, 7, 7], reserved: [0, 0, 0] })
      t.match(await store.ledger.verify(), { ok: true })
    })
}
