/** Device login: what programs post, and what the page at `/device` posts. */
import type { Router } from '@koa/router'
import type { Context } from 'koa'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import { maskEmail } from '../../../membership/audit.ts'
import type { PollAnswer, SeenDevice } from '../../../membership/device-desk.ts'
import type { House } from '../../house.ts'
import { readJson } from '../../body.ts'
import { optionalTextField, textField } from './fields.ts'
import { mount } from './mount.ts'
import { refuseForeignPages, requireCookie, visitorOf } from './visitor.ts'

export function deviceRoutes(router: Router, { services }: House): void {
  const { membership, config, names, clock, origins } = services
  const { devices } = membership
  const body = (ctx: Context): Promise<Record<string, unknown>> => readJson(ctx.req, config.limits.otherBodyBytes)

  mount(router, 'post', '/auth/device/start', async (ctx) => {
    refuseForeignPages(ctx, services)
    const sent = await body(ctx)
    const client = textField(sent, 'client', { max: 64 })
    if (client !== names.cliClient)
      throw invalidRequest(
        { en: `'client' must be '${names.cliClient}'.`, zh: `'client' 必须是 '${names.cliClient}'。` },
        'client',
      )
    const version = optionalTextField(sent, 'client_version', { max: 64 })
    const hostname = optionalTextField(sent, 'hostname', { max: 64 })
    const visitor = visitorOf(ctx, services)
    const started = await devices.start({ client, version, hostname }, visitor)
    const page = `${origins.site}/device`
    return {
      device_code: started.deviceCode,
      user_code: started.userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${started.userCode}`,
      expires_in: started.expiresInSeconds,
      interval: started.intervalSeconds,
      requestId: visitor.requestId,
    }
  })

  mount(router, 'post', '/auth/device/poll', async (ctx) => {
    refuseForeignPages(ctx, services)
    const deviceCode = textField(await body(ctx), 'device_code', { max: 256 })
    const visitor = visitorOf(ctx, services)
    return toPollRecord(await devices.poll(deviceCode, visitor), visitor.requestId, clock.now())
  })

  mount(router, 'post', '/auth/device/lookup', async (ctx) => {
    const { account } = await requireCookie(ctx, services)
    const seen = await devices.look(textField(await body(ctx), 'user_code', { max: 64 }), account, visitorOf(ctx, services))
    if (seen === undefined) throw unknownCode()
    return { device: toDeviceRecord(seen, clock.now()) }
  })

  for (const [path, decision] of [
    ['approve', 'approved'],
    ['deny', 'denied'],
  ] as const) {
    mount(router, 'post', `/auth/device/${path}`, async (ctx) => {
      const { account } = await requireCookie(ctx, services)
      const code = textField(await body(ctx), 'user_code', { max: 64 })
      if ((await devices.decide(code, decision, account, visitorOf(ctx, services))) === undefined) throw unknownCode()
      return { ok: true, status: decision }
    })
  }
}

function toPollRecord(answer: PollAnswer, requestId: string, now: number): Record<string, unknown> {
  switch (answer.kind) {
    case 'waiting': {
      const expiresIn = Math.max(0, Math.ceil((answer.expiresAt - now) / 1000))
      const [status, error] = answer.hurried ? ['slow_down', 'slow_down'] : ['pending', 'authorization_pending']
      return { status, error, interval: answer.intervalSeconds, expires_in: expiresIn, requestId }
    }
    case 'token':
      return {
        status: 'approved',
        sessionToken: answer.token,
        token_type: 'Bearer',
        expires_in: Math.round((answer.expiresAt - now) / 1000),
        expires_at: new Date(answer.expiresAt).toISOString(),
        account: { id: answer.account.id, email_masked: maskEmail(answer.account.email), plan: answer.account.plan },
        requestId,
      }
    case 'denied':
      throw new GatewayError('access_denied')
    case 'expired':
      throw new GatewayError('expired_token')
    case 'gone':
      throw new GatewayError('invalid_grant')
  }
}

function toDeviceRecord({ login, sameNetwork }: SeenDevice, now: number): Record<string, unknown> {
  return {
    user_code: login.userCode,
    client: login.client,
    client_version: login.clientVersion,
    hostname: login.hostname,
    address: login.address,
    same_network: sameNetwork,
    started_at: new Date(login.startedAt).toISOString(),
    expires_in: Math.max(0, Math.ceil((login.expiresAt - now) / 1000)),
    state: login.state,
  }
}

/** Never issued, over, decided on, or another's: all the same to who asks. */
function unknownCode(): GatewayError {
  return new GatewayError('not_found', {
    param: 'user_code',
    message: {
      en: 'This code is not known, has expired, or was used. Start again on the device.',
      zh: '此代码无效、已过期或已使用,请在设备上重新开始。',
    },
  })
}
