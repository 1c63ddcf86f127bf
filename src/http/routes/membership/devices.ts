/** Device login: the endpoints for programs, and those for the page at `/device`. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { approveDevice, denyDevice, lookUpDevice, pollDevice, startDevice } from '../../../api/membership/devices.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import { maskEmail } from '../../../domain/identity/audit.ts'
import type { DevicePollResult, DeviceLoginView } from '../../../domain/services/sign-in/device-login-service.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { createUnknownCodeError } from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

export function mountDeviceRoutes(
  serve: ServeEndpoint,
  { membership: { deviceLogins: service }, names, clock, origins }: Pick<Services, 'clock' | 'membership' | 'names' | 'origins'>,
): void {
  serve(startDevice, async ({ body: { client, client_version: version, hostname }, clientInfo }) => {
    if (client !== names.cliClient)
      throw invalidRequest(
        { en: `'client' must be '${names.cliClient}'.`, zh: `'client' 必须是 '${names.cliClient}'。` },
        'client',
      )
    const startedLogin = await service.start({ client, version, hostname }, clientInfo)
    const page = `${origins.site}/device`
    return {
      device_code: startedLogin.deviceCode,
      user_code: startedLogin.userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${startedLogin.userCode}`,
      expires_in: startedLogin.expiresInSeconds,
      interval: startedLogin.intervalSeconds,
      requestId: clientInfo.requestId,
    }
  })

  serve(pollDevice, async ({ body, clientInfo }) =>
    toPollResponse(await service.poll(body.device_code, clientInfo), clientInfo.requestId, clock.now()),
  )

  serve(lookUpDevice, async ({ member: { account }, body, clientInfo }) => {
    const device = await service.inspect(body.user_code, account, clientInfo)
    if (device === undefined) throw createUnknownCodeError()
    return { device: toDevice(device, clock.now()) }
  })

  serve(approveDevice, async ({ member: { account }, body, clientInfo }) => {
    if ((await service.decide(body.user_code, 'approved', account, clientInfo)) === undefined) throw createUnknownCodeError()
    return { ok: true, status: 'approved' }
  })

  serve(denyDevice, async ({ member: { account }, body, clientInfo }) => {
    if ((await service.decide(body.user_code, 'denied', account, clientInfo)) === undefined) throw createUnknownCodeError()
    return { ok: true, status: 'denied' }
  })
}

function toPollResponse(answer: DevicePollResult, requestId: string, now: number): ResponseOf<typeof pollDevice> {
  switch (answer.kind) {
    case 'waiting': {
      const rest = { interval: answer.intervalSeconds, expires_in: getSecondsLeft(answer, now), requestId }
      return answer.polledEarly
        ? { status: 'slow_down', error: 'slow_down', ...rest }
        : { status: 'pending', error: 'authorization_pending', ...rest }
    }
    case 'token':
      return {
        status: 'approved',
        sessionToken: answer.token,
        token_type: 'Bearer',
        expires_in: Math.round((answer.expiresAt - now) / 1000),
        expires_at: formatInstant(answer.expiresAt),
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

function toDevice({ login, sameNetwork }: DeviceLoginView, now: number): ResponseOf<typeof lookUpDevice>['device'] {
  return {
    user_code: login.userCode,
    client: login.client,
    client_version: login.clientVersion,
    hostname: login.hostname,
    address: login.address,
    same_network: sameNetwork,
    started_at: formatInstant(login.startedAt),
    expires_in: getSecondsLeft(login, now),
    state: login.state,
  }
}

function getSecondsLeft({ expiresAt }: { readonly expiresAt: number }, now: number): number {
  return Math.max(0, Math.ceil((expiresAt - now) / 1000))
}
