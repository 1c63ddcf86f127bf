/** `svc-gateway doctor`: the providers that members sign in with, and the keys of trusted issuers. */
import { getSiteOrigin } from '../../../config/site-origin.ts'
import { request } from 'undici'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { redactUrl } from '../../../config/redact-url.ts'
import { describeProviderError, findClientFault } from '../../../access/sign-in-providers.ts'
import { findKeySetFault } from '../../../access/trusted-issuers.ts'
import { systemClock } from '../../../system/clock.ts'
import { describeError } from './describe-error.ts'
import '../../../system/vendor/undici-fetch.ts'

const timeoutMs = 10_000
/** Tokens are accepted this much too early or too late. */
const maxClockDifferenceMs = 30_000

/** Reads each provider's metadata as a sign-in does, and sends the client's credentials with a code that does not exist. */
export function checkSignInProviders({ signIn, listen }: GatewayConfig): Promise<HealthCheck[]> {
  return Promise.all(
    Object.entries(signIn.providers).map(async ([id, provider]): Promise<HealthCheck> => {
      const what = `sign-in ${id}`
      const { issuer, clientId } = provider
      const site = getSiteOrigin(listen)
      try {
        const fault = await findClientFault(provider, `${site}/api/membership/auth/oauth/${id}/callback`)
        if (fault !== null)
          return {
            what,
            ok: false,
            detail: `${issuer} refuses client ${clientId}: ${fault}; check clientId, clientSecret and clientAuth`,
          }
        const difference = await measureClockDifference(issuer)
        if (difference > maxClockDifferenceMs)
          return {
            what,
            ok: false,
            detail: `the clocks of this machine and of ${issuer} differ by ${Math.round(difference / 1000)} s; correct them, because tokens are refused`,
          }
        return { what, ok: true, detail: `${issuer} answers and accepts client ${clientId}` }
      } catch (error) {
        return { what, ok: false, detail: `${issuer} cannot be used: ${describeProviderError(error)}; check its address` }
      }
    }),
  )
}

/** By the `Date` header; 0 where the provider sends none. */
async function measureClockDifference(issuer: string): Promise<number> {
  const { headers, body } = await request(`${issuer}/.well-known/openid-configuration`, {
    signal: systemClock.deadline(timeoutMs),
  })
  await body.dump()
  const date = Date.parse(String(headers['date']))
  return Number.isNaN(date) ? 0 : Math.abs(systemClock.now() - date)
}

/** Fetches the keys of each issuer, as the first token does. */
export function checkTrustedIssuers({ signIn }: GatewayConfig): Promise<HealthCheck[]> {
  return Promise.all(
    signIn.jwtIssuers.map(async ({ issuer, jwksUrl }): Promise<HealthCheck> => {
      const what = `tokens of ${new URL(issuer).host}`
      const address = redactUrl(jwksUrl)
      const fault = await findKeySetFault(jwksUrl)
      // The library's message can contain the address with its credentials.
      const reason = describeError(fault).replaceAll(/\/\/[^/@\s]*@/g, '//')
      return fault === null
        ? { what, ok: true, detail: `${address} has keys` }
        : {
            what,
            ok: false,
            detail: `${address}: ${reason}; check jwksUrl, because tokens are answered 503 until it works`,
          }
    }),
  )
}
