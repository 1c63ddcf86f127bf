/** Every endpoint of the operator API × every role and credential: what is allowed, and how the rest is refused. */
import t from 'tap'
import { endpointsByArea } from '../../../src/api/endpoints.ts'
import type { Endpoint } from '../../../src/api/endpoint.ts'
import type { OperatorScope } from '../../../src/domain/identity/operators/operator-role.ts'
import { createClock } from '../../../src/system/clock.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../support/gateway/website-client.ts'
import { createOperator, createOperatorKey, openConsole, operatorApi } from '../../support/gateway/operators.ts'

/** Written here a second time, so that a change of a role or of the decision shows. */
const scopesByRole = {
  owner:
    'members:read members:write sessions:write money:read money:write turns:read routing:read routing:write audit:read keys:write roles:write',
  operator: 'members:read members:write sessions:write money:read turns:read routing:read routing:write audit:read keys:write',
  support: 'members:read sessions:write turns:read',
  finance: 'members:read money:read money:write',
  reader: 'members:read money:read turns:read routing:read audit:read',
} as const
type Role = keyof typeof scopesByRole

const keyScopes = (scopesByRole.owner.split(' ') as OperatorScope[]).filter(
  (scope) => !['keys:write', 'roles:write'].includes(scope),
)
const needsFreshProof = [
  'adjustMemberCredits',
  'changeMemberEmail',
  'exportUsageReport',
  'exportTurnSearch',
  'setOperatorRole',
  'createOperatorKey',
  'revokeOperatorKey',
]
const neverByKey = ['setOperatorRole', 'createOperatorKey', 'revokeOperatorKey']
const neverByShell = ['createOperatorKey']

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
  const has = (role: Role, scope: string | null): boolean => scope === null || scopesByRole[role].split(' ').includes(scope)
  const scopeOf = ({ endpoint }: Cell): string | null => endpoint.operator?.scope ?? null
  let owner: Awaited<ReturnType<typeof createOperator>> | undefined
  for (const role of Object.keys(scopesByRole) as Role[]) {
    const operator = await createOperator(gateway, `${role}@example.com`, role)
    owner ??= operator
    const expect = (whenAllowed: (cell: Cell) => string | null) => (cell: Cell) =>
      has(role, scopeOf(cell)) ? whenAllowed(cell) : 'permission_denied'
    rows.push(
      { title: `${role} without second factor`, client: operator.browser, expect: expect(() => 'second_factor_required') },
      { title: role, client: await openConsole(gateway, operator), expect: expect(() => null) },
      {
        title: `${role} after ten minutes`,
        client: await openConsole(gateway, operator, now - 10 * 60_000),
        expect: expect(({ name }) => (needsFreshProof.includes(name) ? 'step_up_required' : null)),
      },
    )
    if (role === 'owner')
      for (const scope of keyScopes)
        rows.push({
          title: `key with ${scope}`,
          client: (await createOperatorKey(gateway, operator, [scope])).program,
          expect: (cell) => {
            const ofCell = scopeOf(cell)
            return (ofCell === null || ofCell === scope) && !neverByKey.includes(cell.name) ? null : 'permission_denied'
          },
        })
  }
  const byShell = (isFresh: boolean) => (cell: Cell) =>
    neverByShell.includes(cell.name)
      ? 'permission_denied'
      : !isFresh && needsFreshProof.includes(cell.name)
        ? 'step_up_required'
        : null
  const member = await createOperator(gateway, 'member@example.com', null)
  const key = await gateway.createKey(member.account)
  const refuseAll = (): string => 'sign_in_required'
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
    { title: 'unknown key', client: bearer(`svc_op_${'a'.repeat(38)}`), expect: refuseAll },
  )
  t.equal(operations.length, 38)
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
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': '' },
  ])
    for (const { endpoint } of operations.filter(({ endpoint: { method } }) => method !== 'get')) {
      const path = endpoint.path.replaceAll(/\{\w+\}/g, 'none')
      const answer = await console.send('POST', `${gateway.url}${path}`, {}, headers)
      t.match(answer, { status: 403, body: { code: 'forbidden_origin' } }, `${path} ${JSON.stringify(headers)}`)
    }

  now += 1
  await owner?.browser.post('auth/sign-out')
  t.match(await console.get(operatorApi(gateway, 'me')), { status: 401 }, 'the console ends with the member’s session')
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
