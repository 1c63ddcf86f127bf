/** Something to see on each page of the console. */
import type { TestOperator } from '../gateway/operators.ts'
import type { TestGateway } from '../gateway/test-gateway.ts'
import { WebsiteClient } from '../gateway/website-client.ts'

/** A name that would be markup, and does not end its line by itself. */
const hostileName = `<img src=x onerror=alert(1)>${'x'.repeat(36)}`

/** Returns what stands for the parameter of a page's path, by the path. */
export async function fillConsole(gateway: TestGateway, owner: TestOperator): Promise<Readonly<Record<string, string>>> {
  const { services } = gateway
  const { membership, store, clock, ids } = services
  const { account } = (await new WebsiteClient(gateway).signIn('mei-with-a-rather-long-address@members.example.com')).body
  const member = await store.accounts.find(account.id)
  if (member === undefined) throw new Error('there is no member')
  const key = await membership.apiKeys.createUnaudited(member.id, hostileName.slice(0, 64), null)
  await gateway.chat(key?.token ?? '')
  gateway.demo.script(() => ({ status: 500 }))
  await gateway.chat(key?.token ?? '')
  gateway.demo.script()
  await gateway.waitUntilSettled()
  const actor = { kind: 'session', account: owner.account, role: 'owner', session: 'ops_1', verifiedAt: clock.now() } as const
  const author = { actor, client: null, reason: `he wrote: ${hostileName}` }
  const { memberAdmin } = membership
  await memberAdmin.setPlan(member, { plan: 'pro', until: clock.now() + 30 * 86_400_000 }, author)
  const id = ids.next('adj_', clock.now())
  const correction = {
    id,
    pool: 'premium',
    credits: 1_234_567,
    expiresAt: clock.now() + 86_400_000,
    reason: author.reason,
  } as const
  await memberAdmin.adjustCredits(member, correction, author)
  await store.providerIdentities.link('acme', 'subject', member.id, clock.now())
  return { '/operator/members/:id': member.id }
}
