/** Where it cannot listen it says why, and leaves the database closed. What a start makes of such an error, `test/launch.test.ts` has. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openGateway } from '../../src/gateway/gateway.ts'
import { shownHost } from '../../src/http/bind.ts'
import { temporaryFolder, testConfig } from '../support/gateway.ts'

const folder = temporaryFolder(t)
writeFileSync(join(folder, 'bad.pem'), 'no certificate')
const tls = (name: string) => ({ tls: { cert: join(folder, name), key: join(folder, name) } })

for (const [what, listen, message] of [
  ['an address of another machine', { host: '192.0.2.1' }, /192\.0\.2\.1 is no address of this machine\. Check HOST\./],
  ['a certificate that is not there', tls('none.pem'), /listen\.tls: .*none\.pem cannot be read \(ENOENT\)/],
  ['a certificate that is none', tls('bad.pem'), /listen\.tls: .* are no certificate and its key/],
] as const)
  t.test(what, async (t) => {
    const config = testConfig(t, { listen })
    await t.rejects(openGateway({ config, logTo: { write: () => undefined } }), { name: 'ConfigError', message })
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
  t.test(`of a server on ${host} the address is one that browsers know for what it is`, (t) => {
    t.equal(shownHost(host), shown)
    t.end()
  })
