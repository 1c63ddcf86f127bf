/** Device login: what programs post, and what the page at `/device` posts. */
import type { AnswerOf } from '../../../api/endpoint.ts'
import { approveDevice, denyDevice, lookUpDevice, pollDevice, startDevice } from '../../../api/membership/devices.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import { maskEmail } from '../../../membership/audit.ts'
import type { PollAnswer, SeenDevice } from '../../../membership/device-desk.ts'
import { instant } from '../../../membership/instant.ts'
import type { Services } from '../../../gateway/services.ts'
import type { Serve } from '../../serve.ts'

export function deviceRoutes(serve: Serve, { membership: { devices: desk }, names, clock, origins }: Services): void {
  serve(startDevice, async ({ body: { client, client_version: version, hostname }, visitor }) => {
    if (client !== names.cliClient)
      throw invalidRequest(
        { en: `'client' must be '${names.cliClient}'.`, zh: `'client' 必须是 '${names.cliClient}'。` },
        'client',
      )
    const started = await desk.start({ client, version, hostname }, visitor)
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

  serve(pollDevice, async ({ body, visitor }) =>
    toPoll(await desk.poll(body.device_code, visitor), visitor.requestId, clock.now()),
  )

  serve(lookUpDevice, async ({ member: { account }, body, visitor }) => {
    const seen = await desk.look(body.user_code, account, visitor)
    if (seen === undefined) throw unknownCode()
    return { device: toDevice(seen, clock.now()) }
  })

  serve(approveDevice, async ({ member: { account }, body, visitor }) => {
    if ((await desk.decide(body.user_code, 'approved', account, visitor)) === undefined) throw unknownCode()
    return { ok: true, status: 'approved' }
  })

  serve(denyDevice, async ({ member: { account }, body, visitor }) => {
    if ((await desk.decide(body.user_code, 'denied', account, visitor)) === undefined) throw unknownCode()
    return { ok: true, status: 'denied' }
  })
}

function toPoll(answer: PollAnswer, requestId: string, now: number): AnswerOf<typeof pollDevice> {
  switch (answer.kind) {
    case 'waiting': {
      const rest = { interval: answer.intervalSeconds, expires_in: secondsLeft(answer, now), requestId }
      return answer.hurried
        ? { status: 'slow_down', error: 'slow_down', ...rest }
        : { status: 'pending', error: 'authorization_pending', ...rest }
    }
    case 'token':
      return {
        status: 'approved',
        sessionToken: answer.token,
        token_type: 'Bearer',
        expires_in: Math.round((answer.expiresAt - now) / 1000),
        expires_at: instant(answer.expiresAt),
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

function toDevice({ login, sameNetwork }: SeenDevice, now: number): AnswerOf<typeof lookUpDevice>['device'] {
  return {
    user_code: login.userCode,
    client: login.client,
    client_version: login.clientVersion,
    hostname: login.hostname,
    address: login.address,
    same_network: sameNetwork,
    started_at: instant(login.startedAt),
    expires_in: secondsLeft(login, now),
    state: login.state,
  }
}

function secondsLeft({ expiresAt }: { readonly expiresAt: number }, now: number): number {
  return Math.max(0, Math.ceil((expiresAt - now) / 1000))
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
