/** Operators of a test's gateway: accounts with roles, sessions of the console, and keys. */
import { hashToken } from '../../../src/domain/identity/api-key.ts'
import type { OperatorRole, OperatorScope } from '../../../src/domain/identity/operators/operator-role.ts'
import { mintToken } from '../../../src/domain/identity/session.ts'
import type { TestGateway } from './test-gateway.ts'
import { WebsiteClient } from './website-client.ts'

export interface TestOperator {
  readonly account: string
  readonly session: string
  /** With the member's session alone. */
  readonly browser: WebsiteClient
}

const hourMs = 3_600_000
export const consoleCookie = 'svc_operator_session'
export const operatorApi = (gateway: { readonly url: string }, path: string): string => `${gateway.url}/api/operator/v1/${path}`

/** Signs a member in, with a role or without. */
export async function createOperator(gateway: TestGateway, email: string, role: OperatorRole | null): Promise<TestOperator> {
  const { store, clock } = gateway.services
  const browser = new WebsiteClient(gateway)
  const { account } = (await browser.signIn(email)).body
  if (role !== null) await store.operators.setRole(account.id, { name: role, provider: null }, clock.now())
  const [session] = await store.sessions.list(account.id)
  return { account: account.id, session: session?.id ?? '', browser }
}

/** A browser with the console's session; `owner` null: of a shell link. */
export async function openConsole(
  gateway: TestGateway,
  owner: TestOperator | null,
  verifiedAt = gateway.services.clock.now(),
): Promise<WebsiteClient> {
  const { store, ids, clock } = gateway.services
  const token = mintToken((size) => ids.bytes(size))
  const now = clock.now()
  const actor =
    owner === null
      ? { account: null, session: null, systemUser: 'root' }
      : { account: owner.account, session: owner.session, systemUser: null }
  await store.operators.createSession({
    ...actor,
    id: ids.next('ops_', now),
    hash: hashToken(token),
    address: null,
    client: null,
    verifiedAt,
    createdAt: verifiedAt,
    expiresAt: now + hourMs,
  })
  const browser = new WebsiteClient(gateway)
  browser.cookies.set(consoleCookie, token)
  return browser
}

/** A program with a key of this operator, made as the service makes it. */
export async function createOperatorKey(
  gateway: TestGateway,
  owner: TestOperator,
  scopes: readonly OperatorScope[],
  limits: { readonly networks?: readonly string[]; readonly dailyCredits?: number; readonly days?: number | null } = {},
): Promise<{ readonly id: string; readonly token: string; readonly program: WebsiteClient }> {
  const { membership, store, clock } = gateway.services
  const operator = await store.operators.find(owner.account, clock.now())
  if (operator === undefined) throw new Error('the maker has no role')
  const actor = {
    kind: 'session',
    account: owner.account,
    role: operator.role,
    session: 'ops_1',
    verifiedAt: clock.now(),
  } as const
  const movesMoney = scopes.includes('money:write')
  const result = await membership.operatorKeys.create(
    actor,
    {
      name: 'test',
      scopes,
      networks: limits.networks ?? (movesMoney ? ['127.0.0.0/8', '::1'] : null),
      dailyCredits: limits.dailyCredits ?? (movesMoney ? 1000 : null),
      days: limits.days === undefined ? 90 : limits.days,
    },
    { actor, client: null, reason: null },
  )
  if (result.kind !== 'made') throw new Error(`no key was made: ${result.kind}`)
  const { key, token } = result
  return { id: key.id, token, program: new WebsiteClient(gateway, { authorization: `Bearer ${token}` }) }
}
