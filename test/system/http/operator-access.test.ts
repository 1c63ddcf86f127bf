/** Every endpoint of the operator API × every role and credential: what is allowed, and how the rest is refused. */
import t from 'tap'
import { endpointsByArea } from '../../../src/api/endpoints.ts'
import type { Endpoint } from '../../../src/api/endpoint.ts'
import type { OperatorScope } from '../../../src/domain/identity/operators/operator-role.ts'
import { createClock } from '../../../src/system/clock.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../support/gateway/website-client.ts'
import { consoleCookie, createOperator, createOperatorKey, openConsole, operatorApi } from '../../support/gateway/operators.ts'

/** Written here a second time, so that a change of a role or of the decision shows. */
const scopesByRole = {
  owner:
    'members:read members:write sessions:write money:read money:write turns:read routing:read routing:write audit:read notices:write keys:write roles:write',
  operator:
    'members:read members:write sessions:write money:read turns:read routing:read routing:write audit:read notices:write keys:write',
  support: 'members:read sessions:write turns:read',
  finance: 'members:read money:read money:write',
  reader: 'members:read money:read turns:read routing:read audit:read',
} as const
type Role = keyof typeof scopesByRole

/**
 * What each endpoint asks for, written here a second time; an endpoint without a row fails the test. `fresh`: with a proof of the last ten
 * minutes; `no-key`, `no-shell`: never by one.
 */
const needs: Readonly<Record<string, string>> = {
  findMembers: 'members:read',
  createMember: 'members:write',
  showMember: 'members:read',
  listMemberTurns: 'turns:read',
  listMemberKeys: 'members:read',
  listMemberSessions: 'members:read',
  listMemberAudit: 'members:read',
  setMemberPlan: 'members:write',
  adjustMemberCredits: 'money:write fresh',
  setMemberStatus: 'members:write',
  endMemberSessions: 'sessions:write',
  resendSignInEmail: 'sessions:write',
  revokeMemberKey: 'members:write',
  changeMemberEmail: 'members:write fresh',
  unlinkMemberProvider: 'members:write',
  searchTurns: 'turns:read',
  explainTurn: 'turns:read',
  exportTurnSearch: 'turns:read fresh',
  listFailures: 'turns:read',
  showTurnSums: 'turns:read',
  showMemberStatement: 'members:read',
  showRouting: 'routing:read',
  listTakenOutTargets: 'routing:read',
  takeOutTarget: 'routing:write',
  bringBackTarget: 'routing:write',
  tryTarget: 'routing:write',
  searchOrders: 'money:read',
  inspectOrder: 'money:read',
  refundOrder: 'money:write fresh',
  listMemberSubscriptions: 'members:read',
  listAuditRecords: 'audit:read',
  exportUsageReport: 'money:read fresh',
  showSystem: 'audit:read',
  listOperatorNotices: 'any',
  addNotice: 'notices:write',
  changeNotice: 'notices:write',
  endNotice: 'notices:write',
  showOperator: 'any',
  listOperators: 'audit:read',
  setOperatorRole: 'roles:write fresh no-key',
  listOperatorKeys: 'audit:read',
  createOperatorKey: 'keys:write fresh no-key no-shell',
  revokeOperatorKey: 'keys:write fresh no-key',
}
const getNeeds = (name: string): readonly string[] => (needs[name] ?? 'no row').split(' ')

/** A key has neither of these: a leaked one must not make itself permanent. */
const keyless = ['keys:write', 'roles:write']
const listKeyScopes = (role: Role) =>
  (scopesByRole[role].split(' ') as OperatorScope[]).filter((scope) => !keyless.includes(scope))

const memberCookie = 'svc_membership_session'
const refusals = ['sign_in_required', 'second_factor_required', 'step_up_required', 'permission_denied', 'forbidden_origin']
const operations = endpointsByArea['Operator API']

interface Cell {
  readonly name: string
  readonly endpoint: Endpoint
}

interface Row {
  readonly title: string
  readonly client: WebsiteClient
  /** The code of the refusal, or null. */
  readonly expect: (cell: Cell) => string | null
}

t.test('each endpoint answers exactly the operators that may use it', async (t) => {
  let now = Date.now()
  const clock = createClock({ now: () => now })
  const gateway = await startGateway(t, { limits: { addressRpm: 1_000_000 } }, { clock })
  const rows: Row[] = []
  const has = (role: Role, { name }: Cell): boolean =>
    getNeeds(name)[0] === 'any' || scopesByRole[role].split(' ').includes(getNeeds(name)[0] ?? '')
  const needsFreshProof = ({ name }: Cell): boolean => getNeeds(name).includes('fresh')
  let owner: Awaited<ReturnType<typeof createOperator>> | undefined
  for (const role of Object.keys(scopesByRole) as Role[]) {
    const operator = await createOperator(gateway, `${role}@example.com`, role)
    owner ??= operator
    const expect = (whenAllowed: (cell: Cell) => string | null) => (cell: Cell) =>
      has(role, cell) ? whenAllowed(cell) : 'permission_denied'
    rows.push(
      { title: `${role} without second factor`, client: operator.browser, expect: expect(() => 'second_factor_required') },
      { title: role, client: await openConsole(gateway, operator), expect: expect(() => null) },
      {
        title: `${role} after ten minutes`,
        client: await openConsole(gateway, operator, now - 10 * 60_000),
        expect: expect((cell) => (needsFreshProof(cell) ? 'step_up_required' : null)),
      },
    )
    for (const scope of listKeyScopes(role))
      rows.push({
        title: `key of ${role} with ${scope}`,
        client: (await createOperatorKey(gateway, operator, [scope])).program,
        expect: ({ name }) => {
          const [asked = '', ...marks] = getNeeds(name)
          return (asked === 'any' || asked === scope) && !marks.includes('no-key') ? null : 'permission_denied'
        },
      })
  }
  // Its maker lost the role after the key was made, and has another now: a key has never more than its maker.
  const demoted = await createOperator(gateway, 'demoted@example.com', 'operator')
  const { program: outgrown } = await createOperatorKey(gateway, demoted, ['members:write', 'members:read'])
  await gateway.services.store.operators.setRole(demoted.account, { name: 'support', provider: null }, now)
  rows.push({
    title: 'key with more than its maker has now',
    client: outgrown,
    expect: ({ name }) => (['any', 'members:read'].includes(getNeeds(name)[0] ?? '') ? null : 'permission_denied'),
  })
  const byShell = (isFresh: boolean) => (cell: Cell) =>
    getNeeds(cell.name).includes('no-shell') ? 'permission_denied' : !isFresh && needsFreshProof(cell) ? 'step_up_required' : null
  const member = await createOperator(gateway, 'member@example.com', null)
  const key = await gateway.createKey(member.account)
  const refuseAll = (): string => 'sign_in_required'
  const ownConsole = await openConsole(gateway, owner ?? null)
  const withConsoleCookie = (token = ''): WebsiteClient => {
    const client = new WebsiteClient(gateway)
    client.cookies.set(consoleCookie, token)
    return client
  }
  const bearer = (token: string) => new WebsiteClient(gateway, { authorization: `Bearer ${token}` })
  rows.push(
    { title: 'shell link', client: await openConsole(gateway, null), expect: byShell(true) },
    {
      title: 'shell link after ten minutes',
      client: await openConsole(gateway, null, now - 10 * 60_000),
      expect: byShell(false),
    },
    { title: 'member', client: member.browser, expect: refuseAll },
    { title: 'key of a member', client: bearer(key), expect: refuseAll },
    { title: 'no credential', client: new WebsiteClient(gateway), expect: refuseAll },
    {
      title: 'member’s session as the console’s',
      client: withConsoleCookie(member.browser.cookies.get(memberCookie)),
      expect: refuseAll,
    },
    {
      title: 'operator’s session as the console’s',
      client: withConsoleCookie(owner?.browser.cookies.get(memberCookie)),
      expect: refuseAll,
    },
    {
      title: 'console’s session as a Bearer token',
      client: bearer(ownConsole.cookies.get(consoleCookie) ?? ''),
      expect: refuseAll,
    },
    {
      title: 'operator’s session as a Bearer token',
      client: bearer(owner?.browser.cookies.get(memberCookie) ?? ''),
      expect: refuseAll,
    },
    { title: 'unknown key', client: bearer(`svc_op_${'a'.repeat(38)}`), expect: refuseAll },
  )
  t.same(operations.map(({ name }) => name).toSorted(), Object.keys(needs).toSorted(), 'each endpoint has a row')
  t.same(
    operations.map(({ name, endpoint }) => [name, describeAccess(endpoint)]),
    operations.map(({ name }) => [name, needs[name]]),
  )
  const differences: string[] = []
  let cells = 0
  for (const { title, client, expect } of rows)
    for (const cell of operations) {
      const { endpoint, name } = cell
      const path = endpoint.path.replaceAll(/\{\w+\}/g, 'none')
      const { status, body } = await client.send(endpoint.method.toUpperCase(), `${gateway.url}${path}`, endpoint.body && {})
      const code = status >= 400 && refusals.includes(body.code) ? body.code : null
      cells += 1
      if (code !== expect(cell)) differences.push(`${title}, ${name}: ${code} instead of ${expect(cell)} (${status})`)
    }
  t.same(differences, [])
  t.equal(cells, rows.length * operations.length)

  const console = await openConsole(gateway, owner ?? null)
  const shell = await openConsole(gateway, null)
  const writes = operations.filter(({ endpoint: { method } }) => method !== 'get')
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': '' },
    { origin: 'null', 'sec-fetch-site': '' },
  ])
    for (const { endpoint } of writes)
      for (const client of [console, shell]) {
        const path = endpoint.path.replaceAll(/\{\w+\}/g, 'none')
        const answer = await client.send(endpoint.method.toUpperCase(), `${gateway.url}${path}`, {}, headers)
        t.match(answer, { status: 403, body: { code: 'forbidden_origin' } }, `${path} ${JSON.stringify(headers)}`)
      }

  now += 1
  await owner?.browser.post('auth/sign-out')
  t.match(await console.get(operatorApi(gateway, 'me')), { status: 401 }, 'the console ends with the member’s session')
})

function describeAccess({ operator }: Endpoint): string {
  const { scope = null, needsStepUp = false, refusesKeys = false, refusesShell = false } = operator ?? {}
  return [scope ?? 'any', needsStepUp && 'fresh', refusesKeys && 'no-key', refusesShell && 'no-shell'].filter(Boolean).join(' ')
}

t.test('the console’s cookie opens nothing of a member', async (t) => {
  const gateway = await startGateway(t)
  const owner = await createOperator(gateway, 'owner@example.com', 'owner')
  const token = (await openConsole(gateway, owner)).cookies.get(consoleCookie) ?? ''
  for (const name of [consoleCookie, memberCookie]) {
    const browser = new WebsiteClient(gateway)
    browser.cookies.set(name, token)
    for (const path of ['usage', 'auth/session', 'auth/sessions', 'auth/api-keys'])
      t.match(await browser.get(path), { status: 401, body: { error: { code: 'sign_in_required' } } }, `${name} ${path}`)
    t.equal((await browser.get(`${gateway.url}/account`)).status, 303, name)
  }
})

t.test('before a role exists there is no operator API, and no console', async (t) => {
  const gateway = await startGateway(t)
  for (const { endpoint } of operations) {
    const path = endpoint.path.replaceAll(/\{\w+\}/g, 'none')
    const answer = await new WebsiteClient(gateway).send(
      endpoint.method.toUpperCase(),
      `${gateway.url}${path}`,
      endpoint.body && {},
    )
    t.match(answer, { status: 404, body: { code: 'not_found' } }, path)
  }
  for (const path of ['operator', 'operator/link?token=abc']) t.equal((await fetch(`${gateway.url}/${path}`)).status, 404, path)
})
