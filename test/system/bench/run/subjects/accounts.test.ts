/** Many accounts at once. */
import { join } from 'node:path'
import t from 'tap'
import { addAccounts } from '../../../../../bench/run/subjects/accounts.ts'
import { hashToken, looksLikeApiKey } from '../../../../../src/domain/identity/api-key.ts'
import { createApiKey } from '../../../../../src/domain/services/api-key-service.ts'
import { openSqliteStore } from '../../../../../src/store/sqlite/open.ts'
import { systemClock as clock } from '../../../../../src/system/clock.ts'
import { createIds } from '../../../../../src/system/ids.ts'

t.test('creates many accounts beside an open store, each with its own working key', async (t) => {
  const database = join(t.testdir(), 'gateway.db')
  const store = await openSqliteStore({ file: database, process: { id: 'test', pid: process.pid }, clock })
  t.teardown(() => store.close())
  const ids = createIds()
  const first = ids.next('acc_', clock.now())
  const owner = { id: first, email: 'owner@localhost', plan: 'max', passwordHash: null, emailVerified: true, at: clock.now() }
  await store.accounts.create(owner)
  const made = await createApiKey({ store, ids, clock, keys: { prefix: 'svc_live_', perAccount: 20 } }, first, 'first', null)
  const keys = addAccounts(database, made?.token ?? '', 300)
  t.equal(keys.length, 300)
  const found = await Promise.all(keys.map((key) => store.apiKeys.findByHash(hashToken(key))))
  t.equal(new Set(found.map((each) => each?.account.id)).size, 300)
  t.same([...new Set(found.map((each) => each?.account.plan))], ['max'])
  t.ok(keys.every((key) => looksLikeApiKey(key, 'svc_live_')))
})
