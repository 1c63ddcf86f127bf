/** A server that cannot listen reports why and closes the database. `test/system/launch.test.ts` covers the program's exit. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openGateway } from '../../../../src/server/serving-thread.ts'
import { formatHost } from '../../../../src/config/site-origin.ts'
import { createTemporaryFolder, testConfig } from '../../../support/gateway/test-gateway.ts'

const folder = createTemporaryFolder(t)
writeFileSync(join(folder, 'bad.pem'), 'no certificate')
const tls = (name: string) => ({ tls: { cert: join(folder, name), key: join(folder, name) } })

for (const [what, listen, message] of [
  ['an address of another machine', { host: '192.0.2.1' }, /192\.0\.2\.1 is no address of this machine\. Check HOST\./],
  ['a certificate that is not there', tls('none.pem'), /listen\.tls: .*none\.pem cannot be read \(ENOENT\)/],
  ['a certificate that is none', tls('bad.pem'), /listen\.tls: .* are no certificate and its key/],
] as const)
  t.test(what, async (t) => {
    const config = testConfig(t, { listen })
    await t.rejects(openGateway({ config, logDestination: { write: () => undefined } }), { name: 'ConfigError', message })
    t.same(
      readdirSync(config.store.dataDir).filter((file) => file.startsWith('gateway.db')),
      ['gateway.db'],
    )
  })

for (const [host, shown] of [
  ['127.0.0.1', '127.0.0.1'],
  ['models.local', 'models.local'],
  ['fd00::2', '[fd00::2]'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
] as const)
  t.test(`formats the address of a server on ${host} so that browsers treat it as this machine`, (t) => {
    t.equal(formatHost(host), shown)
    t.end()
  })
