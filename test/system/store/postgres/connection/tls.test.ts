/** TLS to a real PostgreSQL whose certificate is from a CA of the operator's own. */
import t from 'tap'
import { prepareDatabase } from '../../../../../src/store/postgres/open.ts'
import { OperatorError } from '../../../../../src/system/operator-error.ts'
import { systemClock } from '../../../../../src/system/clock.ts'
import { chownToPostgres } from '../../../../support/servers/postgres/postgres-server.ts'
import { queryPrimary, startPostgresServer } from '../../../../support/servers/postgres/postgres.ts'
import { createSelfSignedCertificate } from '../../../../support/servers/tls-certificate.ts'
import { createTemporaryFolder } from '../../../../support/temporary-folder.ts'
import { waitUntil } from '../../../../support/gateway/test-gateway.ts'

const postgres = await startPostgresServer(t, async () => {})
if (postgres !== undefined) {
  const folder = createTemporaryFolder(t)
  const { cert, key } = createSelfSignedCertificate(folder)
  chownToPostgres(folder)
  const url = await postgres.createDatabase(t, { empty: true })
  for (const statement of [
    `alter system set ssl_cert_file = '${cert}'`,
    `alter system set ssl_key_file = '${key}'`,
    'alter system set ssl = on',
    'select pg_reload_conf()',
  ])
    await queryPrimary([url], statement)
  await waitUntil(async () => (await queryPrimary([url], 'show ssl'))[0]?.['ssl'] === 'on', 'the server to use TLS')

  t.test('refuses an unknown CA at once, in a sentence with the remedy', async (t) => {
    for (const mode of ['require', 'verify-full']) {
      const reasons: object[] = []
      const started = prepareDatabase({
        url: `${url}?sslmode=${mode}`,
        clock: systemClock,
        startTimeoutMs: 60_000,
        log: { warn: (fields) => void reasons.push(fields) },
      })
      await t.rejects(started, OperatorError)
      await t.rejects(started, /The certificate of the database is refused: .*self.signed.* sslrootcert=FILE/, mode)
      t.same(reasons, [], 'it does not wait')
    }
  })

  t.test('accepts the CA of sslrootcert, without a warning of the driver for any word', async (t) => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    t.teardown(() => process.off('warning', onWarning))
    for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full'])
      await prepareDatabase({ url: `${url}?sslmode=${mode}&sslrootcert=${cert}`, clock: systemClock, startTimeoutMs: 0 })
    t.same(warnings, [])
    const otherName = `${url.replace('127.0.0.1', 'localhost')}?sslmode=require&sslrootcert=${cert}`
    await t.rejects(prepareDatabase({ url: otherName, clock: systemClock }), /refused: .*the host as the certificate does/)
  })
}
