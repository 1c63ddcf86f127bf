/** Addresses of a deleted account are in no byte of the database's files. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { noon } from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../support/store/sqlite/support.ts'

const hourMs = 3_600_000
const address = 'ada.lovelace.of.the.test@example.com'
const network = '203.0.113.77'
const erasedTexts = [address, network, 'analytical-engine', 'name-of-her-key', 'subject-at-provider']

t.test('erasing an account leaves no address, network address or name in the file and its WAL', async (t) => {
  const file = join(createTemporaryFolder(t), 'gateway.db')
  const store = await openStoreAt(t, file)
  const listRemains = (): string[] => {
    const bytes = [file, `${file}-wal`].filter((each) => existsSync(each)).map((each) => readFileSync(each))
    return erasedTexts.filter((text) => bytes.some((content) => content.includes(text)))
  }
  await store.accounts.create({ id: 'acc_1', email: address, plan: 'free', passwordHash: null, emailVerified: true, at: noon })
  await store.providerIdentities.link('https://id.example.com', 'subject-at-provider', 'acc_1', noon)
  await store.emailVerifications.createIfAllowed(
    {
      link: Buffer.alloc(32, 1),
      browser: Buffer.alloc(32, 2),
      address,
      mailbox: address,
      network,
      known: true,
      codeHash: Buffer.alloc(32, 4),
      passwordHash: null,
      invite: null,
      at: noon,
    },
    noon - hourMs,
    () => ({ kind: 'send', tries: 5 }),
  )
  await store.apiKeys.create(
    {
      id: 'key_1',
      account: 'acc_1',
      name: 'name-of-her-key',
      prefix: 'svc_live_abcd',
      last4: 'wxyz',
      hash: Buffer.alloc(32, 5),
      createdAt: noon,
      expiresAt: null,
    },
    20,
  )
  await store.deviceLogins.start(
    {
      codeHash: Buffer.alloc(32, 3),
      userCode: 'ABCD-EFGH',
      client: 'svc',
      clientVersion: null,
      hostname: 'analytical-engine',
      address: network,
      network,
      startedAt: noon,
      expiresAt: noon + hourMs,
    },
    5,
  )
  await store.deviceLogins.claim('ABCD-EFGH', 'acc_1', noon)
  t.ok(listRemains().includes(address))
  await store.accounts.erase('acc_1', noon + 1)
  await store.close()
  t.same(listRemains(), [])
  withRawDatabase(file, (db) => t.equal(db.pragma('integrity_check', { simple: true }), 'ok'))
})
