/** The address of the store. */
import t from 'tap'
import { hostsOf } from '../../../src/store/postgres/hosts.ts'
import { Unusable } from '../../../src/system/unusable.ts'

t.test('an address with several hosts is one address for each', async (t) => {
  t.same(hostsOf('postgres://ada:p%40ss@db1,db2:5433,[::1]/svc?sslmode=verify-full'), [
    'postgres://ada:p%40ss@db1/svc?sslmode=verify-full',
    'postgres://ada:p%40ss@db2:5433/svc?sslmode=verify-full',
    'postgres://ada:p%40ss@[::1]/svc?sslmode=verify-full',
  ])
  t.same(hostsOf('postgresql://db/svc'), ['postgresql://db/svc'])
})

t.test('what is no such address is refused without repeating the password in it', async (t) => {
  for (const wrong of [
    'mysql://ada:secret@db/svc',
    'postgres://ada:secret@db',
    'postgres://ada:secret@/svc',
    'postgres://ada:se/cret@db/svc',
    'postgres://ada:secret@db1,,db2/svc',
    'postgres://ada:secret@db:port/svc',
  ]) {
    t.throws(() => hostsOf(wrong), Unusable, wrong)
    try {
      hostsOf(wrong)
    } catch (error) {
      t.notMatch(String(error), /secret|cret/)
    }
  }
})
