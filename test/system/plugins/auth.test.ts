/** Authenticates each kind of credential on the surface it is for, and rejects every invalid one. */
import t from 'tap'
import { auth } from '../../../plugins/auth.ts'
import type { GatewayError } from '../../../src/errors.ts'
import type { Exchange, Slots } from '../../../src/exchange/exchange.ts'
import { createTestExchange } from '../../support/gateway/test-exchange.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'

t.test('keys', async (t) => {
  const { services, createMember, createAccount } = await startGateway(t)
  const { id, token } = await createMember('pro')
  const ask = async (authorization: string | undefined, cookieToken: string | null = null) => {
    const x = createTestExchange({ inboundHeaders: { authorization } })
    const inbound = { ...x.inbound, cookieToken }
    const asking: Exchange & Partial<Slots> = { ...x, inbound }
    await auth.onRequest?.(asking, services)
    return asking.caller
  }
  const refusal = async (authorization: string | undefined, cookieToken: string | null = null) => {
    try {
      await ask(authorization, cookieToken)
    } catch (error) {
      return { code: (error as GatewayError).code, challenge: (error as GatewayError).details.headers?.['www-authenticate'] }
    }
    return null
  }

  t.match(await ask(`Bearer ${token}`), { account: { id }, plan: { id: 'pro' }, credential: 'key' })
  t.match(await ask(`bearer ${token}`), { account: { id } }, 'accepts the scheme in any case')

  const byApiKey = async (apiKey: string, authorization?: string) => {
    const asking: Exchange & Partial<Slots> = createTestExchange({ inboundHeaders: { authorization, 'x-api-key': apiKey } })
    await auth.onRequest?.(asking, services)
    return asking.caller
  }
  t.match(await byApiKey(token), { account: { id }, credential: 'key' }, 'x-api-key alone')
  await t.rejects(byApiKey(`${token}x`), { code: 'sign_in_required' })
  await t.rejects(byApiKey(''), { code: 'sign_in_required' })
  await t.rejects(byApiKey(token, 'Bearer x'), { code: 'sign_in_required' }, 'a wrong Authorization decides')

  const wrong = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
  for (const sent of [
    '',
    token,
    `Basic ${token}`,
    'Bearer',
    'Bearer ',
    `Bearer ${wrong}`,
    `Bearer ${token}x`,
    `Bearer ${token} x`,
    `Bearer ${'x'.repeat(9_000)}`,
    "Bearer ' or 1=1 --",
    'Bearer svc_live_',
    `Bearer svc_sess_${'A'.repeat(43)}`,
    'Bearer \u0000',
    'Bearer %00',
  ]) {
    t.same(
      await refusal(sent),
      { code: 'sign_in_required', challenge: 'Bearer realm="svc", error="invalid_token"' },
      sent.slice(0, 40),
    )
  }
  t.same(
    await refusal(undefined),
    { code: 'sign_in_required', challenge: 'Bearer realm="svc"' },
    'nothing sent: no error is named',
  )
  t.match(await refusal(undefined, token), { code: 'sign_in_required' }, 'rejects a key in the cookie')

  const other = await createAccount()
  await services.store.accounts.setStatus(other.id, 'disabled')
  const disabled = (await services.membership.apiKeys.createUnaudited(other.id, 'k', null))!.token
  t.match(await refusal(`Bearer ${disabled}`), { code: 'sign_in_required' }, 'a disabled account')
  const expired = (await services.membership.apiKeys.createUnaudited(id, 'k', services.clock.now() - 1))!.token
  t.match(await refusal(`Bearer ${expired}`), { code: 'sign_in_required' }, 'an expired key')
  const { key, token: revoked } = (await services.membership.apiKeys.createUnaudited(id, 'k', null))!
  t.ok(await ask(`Bearer ${revoked}`))
  await services.store.apiKeys.revoke(id, key.id, services.clock.now())
  services.credentials.invalidateEverywhere(id)
  t.match(await refusal(`Bearer ${revoked}`), { code: 'sign_in_required' }, 'a revoked key, at once')
})
