/** Whose request is it? Each credential, on the surface it is for, and every way it can be wrong. */
import t from 'tap'
import { auth } from '../../plugins/auth.ts'
import type { GatewayError } from '../../src/errors.ts'
import type { Exchange, Slots } from '../../src/exchange/exchange.ts'
import { anExchange } from '../support/exchange.ts'
import { startGateway } from '../support/gateway.ts'

t.test('keys', async (t) => {
  const { services, member, account } = await startGateway(t)
  const { id, token } = await member('pro')
  const ask = async (authorization: string | undefined, cookieToken: string | null = null) => {
    const x = anExchange({ sent: { authorization } })
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
  t.match(await ask(`bearer ${token}`), { account: { id } }, 'the scheme is a word in any case')

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
  t.match(await refusal(undefined, token), { code: 'sign_in_required' }, 'a key pasted into the cookie is no cookie session')

  const other = await account()
  await services.store.accounts.setStatus(other.id, 'disabled')
  const disabled = (await services.membership.keys.mint(other.id, 'k', null))!.token
  t.match(await refusal(`Bearer ${disabled}`), { code: 'sign_in_required' }, 'a disabled account')
  const expired = (await services.membership.keys.mint(id, 'k', services.clock.now() - 1))!.token
  t.match(await refusal(`Bearer ${expired}`), { code: 'sign_in_required' }, 'an expired key')
  const { key, token: revoked } = (await services.membership.keys.mint(id, 'k', null))!
  t.ok(await ask(`Bearer ${revoked}`))
  await services.store.keys.revoke(id, key.id, services.clock.now())
  services.credentials.forgetAccount(id)
  t.match(await refusal(`Bearer ${revoked}`), { code: 'sign_in_required' }, 'a revoked key, at once')
})
