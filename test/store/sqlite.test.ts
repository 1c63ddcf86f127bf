import t from 'tap'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import { storeContract } from './contract.ts'

storeContract(t, async (t) => {
  const store = await openSqliteStore({
    file: ':memory:',
    process: { id: 'test', pid: process.pid },
    clock: { now: () => Date.UTC(2026, 4, 13, 12) },
  })
  t.teardown(() => store.close())
  return store
})
