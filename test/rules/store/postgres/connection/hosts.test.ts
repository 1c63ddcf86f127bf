/** Parsing of the store's address. */
import t from 'tap'
import { parseHosts } from '../../../../../src/store/postgres/connection/hosts.ts'
import { OperatorError } from '../../../../../src/system/operator-error.ts'

t.test('returns one address for each host', async (t) => {
  t.same(parseHosts('postgres://ada:p%40ss@db1,db2:5433,[::1]/svc?sslmode=verify-full'), [
    'postgres://ada:p%40ss@db1/svc?sslmode=verify-full',
    'postgres://ada:p%40ss@db2:5433/svc?sslmode=verify-full',
    'postgres://ada:p%40ss@[::1]/svc?sslmode=verify-full',
  ])
  t.same(parseHosts('postgresql://db/svc'), ['postgresql://db/svc'])
})

t.test('treats each word for encryption as verify-full, and refuses unknown ones with the words that work', async (t) => {
  for (const word of ['prefer', 'require', 'verify-ca', 'verify-full'])
    t.same(parseHosts(`postgres://db/svc?application_name=a&sslmode=${word}`), [
      'postgres://db/svc?application_name=a&sslmode=verify-full',
    ])
  t.same(parseHosts('postgres://db/svc?sslmode=disable'), ['postgres://db/svc?sslmode=disable'])
  t.throws(() => parseHosts('postgres://ada:secret@db/svc?sslmode=bogus'), /sslmode=bogus\. Use sslmode=verify-full/)
})

t.test('refuses an invalid address without repeating its password', async (t) => {
  for (const wrong of [
    'mysql://ada:secret@db/svc',
    'postgres://ada:secret@db',
    'postgres://ada:secret@/svc',
    'postgres://ada:se/cret@db/svc',
    'postgres://ada:secret@db1,,db2/svc',
    'postgres://ada:secret@db:port/svc',
  ]) {
    t.throws(() => parseHosts(wrong), OperatorError, wrong)
    try {
      parseHosts(wrong)
    } catch (error) {
      t.notMatch(String(error), /secret|cret/)
    }
  }
})
