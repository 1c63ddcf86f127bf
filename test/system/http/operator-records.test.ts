/** Every change by the operator API leaves one record: who, by what, from where, what was before and after, and why. A repeat leaves none. */
import t from 'tap'
import { endpointsByArea } from '../../../src/api/endpoints.ts'
import { createOperator, openConsole, operatorApi } from '../../support/gateway/operators.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { createPaidOrder } from '../../support/website/console-data.ts'

const reason = 'a <b>ticket</b>, "№ 7"'
const day = 86_400_000

t.test('each change has one record, and a repeat of its request none', async (t) => {
  const gateway = await startGateway(t, { payments: { demo: true } })
  const { store, membership, clock } = gateway.services
  const owner = await createOperator(gateway, 'ann@example.com', 'owner')
  const console = await openConsole(gateway, owner)
  const member = await createOperator(gateway, 'mei@example.com', null)
  const helper = await createOperator(gateway, 'bob@example.com', null)
  await store.providerIdentities.link('acme', 'subject', member.account, clock.now())
  const key = await membership.apiKeys.createUnaudited(member.account, 'editor', null)
  const { order } = await createPaidOrder(gateway, member.account)
  const target = { target: 'main/demo-flagship' }
  const until = new Date(clock.now() + day).toISOString()
  const notice = { kind: 'information', en: 'Slow.', zh: null, until }
  const made: Record<string, string> = {}
  const ofMember = `members/${member.account}`
  /** In the order in which they are sent: path, body, event, and what the record has beside it. */
  const changes: Readonly<Record<string, () => readonly [path: string, body: object, event: string, detail: object]>> = {
    createMember: () => ['members', { email: 'new@example.com', plan: 'pro' }, 'account_created', { plan: 'pro' }],
    setMemberPlan: () => [`${ofMember}/plan`, { plan: 'max' }, 'plan_changed', { before: 'pro', plan: 'max' }],
    adjustMemberCredits: () => [`${ofMember}/credits`, { pool: 'fast', credits: -5 }, 'credits_adjusted', { credits: -5 }],
    setMemberStatus: () => [
      `${ofMember}/status`,
      { status: 'disabled' },
      'account_disabled',
      { before: 'active', after: 'disabled' },
    ],
    endMemberSessions: () => [`members/${helper.account}/sessions/end`, {}, 'session_ended', { ended_sessions: 1 }],
    resendSignInEmail: () => [`members/${made['createMember']}/sign-in-email`, {}, 'sign_in_email_sent', {}],
    revokeMemberKey: () => [`${ofMember}/keys/${key?.key.id}/revoke`, {}, 'key_revoked', { name: 'editor' }],
    changeMemberEmail: () => [`${ofMember}/email`, { email: 'mei@example.net' }, 'email_changed', { from: /@/, to: /@/ }],
    unlinkMemberProvider: () => [`${ofMember}/providers/acme/unlink`, {}, 'provider_unlinked', { provider: 'acme' }],
    takeOutTarget: () => ['targets/take-out', { ...target, minutes: 5, allow_last: true }, 'target_taken_out', { minutes: 5 }],
    bringBackTarget: () => ['targets/bring-back', target, 'target_brought_back', { before_until: /Z$/ }],
    tryTarget: () => ['targets/try', target, 'target_tried', { result: 'completed' }],
    refundOrder: () => [`orders/${order.id}/refund`, {}, 'order_refunded', { money: '9.00 USD' }],
    addNotice: () => ['notices', notice, 'notice_added', { en: 'Slow.' }],
    changeNotice: () => [`notices/${made['addNotice']}`, { en: 'Fast.' }, 'notice_changed', { before_en: 'Slow.', en: 'Fast.' }],
    endNotice: () => [`notices/${made['addNotice']}/end`, {}, 'notice_ended', { before_until: /Z$/, until: /Z$/ }],
    setOperatorRole: () => [
      `members/${helper.account}/role`,
      { role: 'support' },
      'role_changed',
      { before: null, after: 'support' },
    ],
    createOperatorKey: () => [
      'operator-keys',
      { name: 'report', scopes: ['turns:read'] },
      'operator_key_made',
      { scopes: 'turns:read' },
    ],
    revokeOperatorKey: () => [
      `operator-keys/${made['createOperatorKey']}/revoke`,
      {},
      'operator_key_revoked',
      { prefix: /^svc_op_/ },
    ],
  }
  const writes = endpointsByArea['Operator API'].filter(({ endpoint: { method } }) => method !== 'get')
  t.same(writes.map(({ name }) => name).toSorted(), Object.keys(changes).toSorted(), 'each change has a row')
  for (const [name, describe] of Object.entries(changes)) {
    const [path, body, event, detail] = describe()
    const { method, body: schema } = writes.find((each) => each.name === name)?.endpoint ?? { method: 'post' }
    const sent = { ...body, ...(schema !== undefined && 'reason' in (schema as { shape?: object }).shape! ? { reason } : {}) }
    const send = () => console.send(method.toUpperCase(), operatorApi(gateway, path), sent, { 'idempotency-key': name })
    const count = async () => (await store.audit.list({ event: event as 'role_changed', limit: 50 })).length
    const before = await count()
    const answer = await send()
    t.ok(answer.status < 300, `${name}: ${answer.status} ${JSON.stringify(answer.body)}`)
    made[name] = answer.body.id
    t.equal(await count(), before + 1, `${name} leaves one record`)
    const [record] = await store.audit.list({ event: event as 'role_changed', limit: 1 })
    t.match(record, { actor: { kind: 'session', account: owner.account }, address: /^127\.0/, requestId: /./, detail }, name)
    t.equal(record?.reason, name === 'tryTarget' ? null : reason, `${name} has why`)
    const again = await send()
    t.ok(again.headers.has('idempotent-replayed') || again.status === 409, `${name} once: ${again.status}`)
    t.equal(await count(), before + 1, `${name} leaves none when it is repeated`)
  }
})
