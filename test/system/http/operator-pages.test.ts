/** Every page of the console × every role: who sees it, who may send its forms, and how the rest is refused. */
import t from 'tap'
import type { OperatorAccess } from '../../../src/domain/identity/operators/operator-actor.ts'
import type { OperatorRole } from '../../../src/domain/identity/operators/operator-role.ts'
import type { Page } from '../../../src/pages/page.ts'
import { pages } from '../../../src/pages/pages.ts'
import { createClock } from '../../../src/system/clock.ts'
import { createOperator, openConsole } from '../../support/gateway/operators.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../support/gateway/website-client.ts'
import { createCode, createSentOrder, createTurn } from '../../support/website/console-data.ts'
import { sendForm } from '../../support/website/page-form.ts'

/** Written here a second time, so that a change of a section's scope shows. */
const scopeOfPage: Readonly<Record<string, string | null>> = {
  '/operator/members': 'members:read',
  '/operator/members/:id': 'members:read',
  '/operator/turns': 'turns:read',
  '/operator/turns/:id': 'turns:read',
  '/operator/failures': 'turns:read',
  '/operator/routing': 'routing:read',
  '/operator/routing/products/:id': 'routing:read',
  '/operator/routing/upstreams/:id': 'routing:read',
  '/operator/money': 'money:read',
  '/operator/money/codes': 'money:read',
  '/operator/money/codes/:id': 'money:read',
  '/operator/money/packs': 'money:read',
  '/operator/money/subscribers': 'money:read',
  '/operator/orders': 'money:read',
  '/operator/orders/:id': 'money:read',
  '/operator/notices': null,
  '/operator/audit': 'audit:read',
  '/operator/system': 'audit:read',
  '/operator/session': null,
}
/** `path action`: what its form asks for. `!`: with a fresh proof. */
const scopeOfAction: Readonly<Record<string, string>> = {
  '/operator/members/:id set_plan': 'members:write',
  '/operator/members/:id adjust': 'money:write!',
  '/operator/members/:id disable': 'members:write',
  '/operator/members/:id enable': 'members:write',
  '/operator/members/:id end_sessions': 'sessions:write',
  '/operator/members/:id send_email': 'sessions:write',
  '/operator/members/:id change_email': 'members:write!',
  '/operator/members/:id revoke_key': 'members:write',
  '/operator/members/:id unlink': 'members:write',
  '/operator/routing/products/:id try': 'routing:write',
  '/operator/routing/upstreams/:id take_out': 'routing:write',
  '/operator/routing/upstreams/:id bring_back': 'routing:write',
  '/operator/routing/upstreams/:id try': 'routing:write',
  '/operator/notices add': 'notices:write',
  '/operator/notices change': 'notices:write',
  '/operator/notices end': 'notices:write',
  '/operator/money/codes make_plan_codes': 'money:write!',
  '/operator/money/codes make_credit_codes': 'money:write!',
  '/operator/money/codes/:id revoke': 'money:write!',
  '/operator/money/codes/:id revoke_batch': 'money:write!',
  '/operator/orders/:id refund': 'money:write!',
  '/operator/system run_doctor': 'routing:write',
  '/operator/session step_up': '',
  '/operator/session renew_codes': '!',
  '/operator/session add_passkey': '!',
  '/operator/session remove_passkey': '!',
  '/operator/session close': '',
}
const scopesByRole: Readonly<Record<OperatorRole, string>> = {
  owner:
    'members:read members:write sessions:write money:read money:write turns:read routing:read routing:write audit:read notices:write keys:write roles:write',
  operator:
    'members:read members:write sessions:write money:read turns:read routing:read routing:write audit:read notices:write keys:write',
  support: 'members:read sessions:write turns:read',
  finance: 'members:read money:read money:write',
  reader: 'members:read money:read turns:read routing:read audit:read',
}
type OperatorPage = Extract<Page, { readonly audience: 'operators' }>

const operatorPages = pages.filter((page): page is OperatorPage => page.audience === 'operators')
const actions = operatorPages.flatMap((page) =>
  Object.entries(page.actions ?? {}).map(([name, action]) => ({ page, name, access: action.access })),
)
const describe = ({ scope, needsStepUp }: OperatorAccess): string => `${scope ?? ''}${needsStepUp === true ? '!' : ''}`

t.test('pages and forms ask for the scopes that the table has', async (t) => {
  t.same(Object.fromEntries(operatorPages.map(({ path, access }) => [path, access.scope])), scopeOfPage)
  t.same(Object.fromEntries(actions.map(({ page, name, access }) => [`${page.path} ${name}`, describe(access)])), scopeOfAction)
})

t.test('each page answers exactly the operators that may see it, and runs exactly their forms', async (t) => {
  const now = Date.now()
  const gateway = await startGateway(t, { payments: { demo: true } }, { clock: createClock({ now: () => now }) })
  const { formIds } = gateway.services.membership
  const member = await createOperator(gateway, 'member@example.com', null)
  const order = await createSentOrder(gateway, member.account)
  const code = await createCode(gateway)
  const turn = await createTurn(gateway, await gateway.createKey(member.account))
  const subjects = [
    ['/orders/', order],
    ['/turns/', turn],
    ['/products/', 'svc'],
    ['/upstreams/', 'main'],
    ['/codes/', code],
  ] as const
  const toAddress = ({ path }: OperatorPage): string =>
    gateway.url + path.replace(':id', subjects.find(([part]) => path.includes(part))?.[1] ?? member.account)
  const differences: string[] = []
  const expect = (cell: string, found: unknown, wanted: unknown): void => {
    if (found !== wanted) differences.push(`${cell}: ${String(found)} instead of ${String(wanted)}`)
  }
  /** With a form that is good for nothing else: what is allowed is then refused for its content, with another status. */
  const send = async (client: WebsiteClient, page: OperatorPage, action: string, headers = {}) => {
    const fields = new URLSearchParams({ form: formIds.issue(null), action, subject: '' })
    return sendForm(client, toAddress(page), fields, {}, headers)
  }
  for (const [role, list] of Object.entries(scopesByRole)) {
    const scopes = list.split(' ')
    const operator = await createOperator(gateway, `${role}@example.com`, role as OperatorRole)
    for (const isFresh of [true, false])
      for (const page of operatorPages) {
        const console = await openConsole(gateway, operator, isFresh ? now : now - 10 * 60_000)
        const cell = `${role}${isFresh ? '' : ' after ten minutes'}, ${page.path}`
        const maySee = page.access.scope === null || scopes.includes(page.access.scope)
        const shown = await console.get(toAddress(page))
        expect(cell, shown.status, maySee ? 200 : 403)
        if (maySee) {
          const links = [...(shown.body as string).matchAll(/<nav class="rail"[^]*?<\/nav>/g)].join('')
          // A section is one level deep; pages below it are reached from it.
          for (const { path, access } of operatorPages.filter(({ path }) => /^\/operator\/\w+$/.test(path)))
            expect(
              `${cell} links ${path}`,
              links.includes(`href="${path}"`),
              access.scope === null || scopes.includes(access.scope),
            )
        }
        for (const { name, access } of actions.filter((action) => action.page === page)) {
          // An action may end the session.
          const own = await openConsole(gateway, operator, isFresh ? now : now - 10 * 60_000)
          const { status } = await send(own, page, name)
          const mayAct = maySee && (access.scope === null || scopes.includes(access.scope))
          if (!mayAct) expect(`${cell} ${name}`, status, 403)
          else if (access.needsStepUp === true && !isFresh) expect(`${cell} ${name}`, status, 401)
          else expect(`${cell} ${name} is not refused`, status === 401 || status === 403, false)
        }
      }
  }
  const shell = await openConsole(gateway, null)
  for (const page of operatorPages) {
    expect(`shell, ${page.path}`, (await shell.get(toAddress(page))).status, 200)
    for (const [title, client] of [
      ['member', member.browser],
      ['visitor', new WebsiteClient(gateway)],
    ] as const) {
      const { status, headers } = await client.get(toAddress(page))
      expect(`${title}, ${page.path}`, `${status} ${headers.get('location')?.split('?')[0]}`, '303 /operator')
    }
    for (const { name } of actions.filter((action) => action.page === page))
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example', 'sec-fetch-site': '' },
      ])
        expect(`from elsewhere, ${page.path} ${name}`, (await send(shell, page, name, headers)).status, 403)
  }
  expect('the shell', (await shell.get(`${gateway.url}/operator/session`)).status, 200)
  t.same(differences, [])
})

t.test('before a role exists there is no page of the console', async (t) => {
  const gateway = await startGateway(t)
  for (const { path } of operatorPages) t.equal((await fetch(`${gateway.url}${path}`)).status, 404, path)
})

t.test('an operator who signs in at a page of the console returns to it', async (t) => {
  const gateway = await startGateway(t)
  const operator = await createOperator(gateway, 'ann@example.com', 'owner')
  const { headers } = await operator.browser.get(`${gateway.url}/operator/session?a=1`)
  t.equal(headers.get('location'), '/operator?next=%2Foperator%2Fsession%3Fa%3D1')
  const page = await operator.browser.get(`${gateway.url}${headers.get('location')}`)
  t.match(page.body, /action="\/operator\?next=%2Foperator%2Fsession%3Fa%3D1"/)
  const elsewhere = await operator.browser.get(`${gateway.url}/operator?next=//evil.example`)
  t.match(elsewhere.body, /action="\/operator"/)
})
