/** The output at start: the address, and on an empty database the first account with its key, shown this once. */
import type { Server } from '../server/server.ts'
import { asOperator } from '../domain/identity/audit.ts'

const firstEmail = 'owner@localhost'

export async function createStartupMessage({ services, url, demo, createdLocation, threads }: Server): Promise<string> {
  const lines = [`svc-gateway listens on ${url}`]
  if (threads.count > 1) lines.push(`${threads.count} workers serve.`)
  if (createdLocation !== null) lines.push(`A new installation was begun in ${createdLocation}.`)
  if (demo !== null) {
    lines.push(
      'No upstream is configured: a built-in demonstration answers. Set UPSTREAM_BASE_URL and UPSTREAM_API_KEY for a real one.',
    )
  }
  const key = await createFirstKey(services)
  if (key !== null) {
    lines.push(
      '',
      `A first account (${firstEmail}, plan max) was made. Its API key is shown only now:`,
      '',
      `    ${key}`,
      '',
      'Try it:',
      '',
      `    curl ${url}/v1/chat/completions -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d '{"model":"svc-2.1","messages":[{"role":"user","content":"Hello!"}]}'`,
      '',
    )
  }
  return `${lines.join('\n')}\n`
}

async function createFirstKey(services: Server['services']): Promise<string | null> {
  const { store, ids, clock, config, membership } = services
  if ((await store.accounts.count()) > 0) return null
  const at = clock.now()
  const plan = 'max' in config.plans ? 'max' : config.defaultPlan
  const account = await store.accounts.create({
    id: ids.next('acc_', at),
    email: firstEmail,
    plan,
    passwordHash: null,
    emailVerified: true,
    at,
  })
  // Another process on the same new database was first: its output has the key.
  if (account === undefined) return null
  const mintedKey = await membership.apiKeys.createUnaudited(account.id, 'first key', null)
  const note = asOperator(membership.writeAudit)
  await note('account_created', account.id)
  if (mintedKey === undefined) return null
  await note('key_made', account.id, { key: mintedKey.key.id, name: mintedKey.key.name })
  return mintedKey.token
}
