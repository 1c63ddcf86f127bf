/** The page of an account's security: what it states before an account is deleted. */
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'

const sentence = /Backups of this service may contain them for (\d+) days more/

t.test('states how long backups may contain a deleted account, where there are backups', async (t) => {
  const keep = { days: 3, weeks: 2, months: 4 }
  for (const [backup, days] of [
    [null, undefined],
    [{ every: '2d', keep, to: createTemporaryFolder(t) }, '126'],
    [{ every: '6h', keep: { ...keep, months: 0 }, to: createTemporaryFolder(t) }, '15'],
  ] as const) {
    const gateway = await startGateway(t, { backup })
    const client = new WebsiteClient(gateway)
    await client.signIn('anna@example.com')
    const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const page = await fetch(`${gateway.url}/account/security`, { headers: { cookie, 'accept-language': 'en' } })
    t.equal(page.status, 200)
    t.equal(sentence.exec(await page.text())?.[1], days)
    await gateway.close()
  }
})
