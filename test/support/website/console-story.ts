/**
 * A complaint: a member closed the window within an answer, which was charged as far as it went. With a console, and the pages by which an
 * operator finds and explains it.
 */
import type { Gateway } from '../../../src/server/serving-thread.ts'
import { hashToken } from '../../../src/domain/identity/api-key.ts'
import { mintToken } from '../../../src/domain/identity/session.ts'
import { consoleCookie } from '../gateway/operators.ts'
import { waitUntil } from '../wait-until.ts'

const hourMs = 3_600_000

export async function openConsoleStory(gateway: Pick<Gateway, 'services' | 'url'>) {
  const { services, url } = gateway
  const { store, clock, ids, ledger, membership } = services
  const token = mintToken((size) => ids.bytes(size))
  const now = clock.now()
  await store.operators.createSession({
    account: null,
    session: null,
    systemUser: 'root',
    id: ids.next('ops_', now),
    hash: hashToken(token),
    address: null,
    client: null,
    verifiedAt: now,
    createdAt: now,
    expiresAt: now + 12 * hourMs,
  })
  const complaint = await leaveAnswer(gateway)
  await waitUntil(
    async () => (await ledger.turns({ account: complaint.account, limit: 1 }))[0]?.state === 'settled',
    'the charge',
  )
  await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
  const [turn] = await ledger.turns({ account: complaint.account, limit: 1 })
  return {
    ...complaint,
    turn: turn?.id ?? 0,
    credits: turn?.credits ?? 0,
    cookie: { name: consoleCookie, value: token, url },
    pages: {
      now: '/operator',
      search: `/operator/members?q=${complaint.requestId}`,
      member: `/operator/members/${complaint.account}`,
      turn: `/operator/turns/${turn?.id}`,
      turns: '/operator/turns',
      failures: '/operator/failures',
    },
  }
}

/** Reads the beginning of an answer, and closes the connection. */
async function leaveAnswer({ services, url }: Pick<Gateway, 'services' | 'url'>) {
  const { store, clock, ids, membership } = services
  const account = ids.next('acc_', clock.now())
  const email = 'ben.weber@example.com'
  await store.accounts.create({ id: account, email, plan: 'pro', passwordHash: null, emailVerified: true, at: clock.now() })
  const key = (await membership.apiKeys.createUnaudited(account, 'editor', null))!
  const leave = new AbortController()
  const ask = (script: object, signal?: AbortSignal) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'svc-2.1',
        stream: true,
        max_tokens: 2_000,
        messages: [{ role: 'user', content: `demo:${JSON.stringify(script)}` }],
      }),
      ...(signal === undefined ? {} : { signal }),
    })
  for (const script of [{ tokens: 40 }, { status: 503 }, { tokens: 60 }]) await (await ask(script)).text()
  const response = await ask({ tokens: 600, hang: { afterEvents: 300 } }, leave.signal)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let events = 0; events < 250;) events += ((await reader?.read())?.value ?? '').split('data: ').length - 1
  leave.abort()
  return { account, email, requestId: response.headers.get('x-request-id') ?? '' }
}
