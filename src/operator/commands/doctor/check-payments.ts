/** Whether payment providers answer, send their notifications to this server, and whether a signed notification arrives at its public address. */
import { getSiteOrigin } from '../../../config/site-origin.ts'
import { existsSync } from 'node:fs'
import { getGlobalDispatcher, request } from 'undici'
import type { Dispatcher } from 'undici'
import type { GatewayConfig } from '../../../config/config.ts'
import { isPrivateHost } from '../../../config/private-host.ts'
import { PaymentProviderError } from '../../../domain/billing/orders/payment-provider.ts'
import type { NotificationEndpoint, PaymentProvider } from '../../../domain/billing/orders/payment-provider.ts'
import { openPaymentProviders } from '../../../payments/open-payment-providers.ts'
import { readSecret } from '../../../server/installation/open-store.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { describeError } from './describe-error.ts'
import '../../../system/vendor/undici-fetch.ts'

const timeoutMs = 10_000

/** @param dispatcher carries the test notifications; a test reaches a port of its own under a public name */
export async function checkPayments(
  config: GatewayConfig,
  dispatcher: Dispatcher = getGlobalDispatcher(),
): Promise<HealthCheck[]> {
  if (Object.keys(config.payments.providers).length === 0 && !config.payments.demo) return []
  try {
    const { store } = config
    const folder = new DataFolder(store.dataDir)
    const hasInstallation = store.url !== null || existsSync(folder.secret)
    // Before the first start nothing is signed with it.
    const secret = hasInstallation ? await readSecret(config) : Buffer.alloc(32)
    const providers = await openPaymentProviders(config, { clock: systemClock, secret, folder })
    return (await Promise.all([...providers.values()].map((provider) => checkProvider(provider, config, dispatcher)))).flat()
  } catch (error) {
    return [{ what: 'payments', ok: false, detail: describeError(error) }]
  }
}

async function checkProvider(provider: PaymentProvider, config: GatewayConfig, dispatcher: Dispatcher): Promise<HealthCheck[]> {
  const { name, diagnose } = provider
  const what = `payments by ${name}`
  if (name === 'demo') return [{ what, ok: true, detail: 'for trying out: no money moves' }]
  if (provider.isConfirmedByHand)
    return [{ what, ok: true, detail: 'the operator confirms what arrives: svc-gateway order confirm' }]
  if (diagnose === undefined)
    return [{ what, ok: true, detail: `its notifications are to go to ${toNotifyUrl(name, config)}; it offers no test` }]
  try {
    const endpoints = await diagnose.listEndpoints()
    return [
      ...(endpoints === null ? [] : [{ what, ...compareEndpoints(endpoints, name, config) }]),
      { what, ...(await sendTest(toNotifyUrl(name, config), diagnose, dispatcher)) },
    ]
  } catch (error) {
    const setting = error instanceof PaymentProviderError && error.setting !== null ? `; check ${error.setting}` : ''
    return [{ what, ok: false, detail: `${describeError(error)}${setting}` }]
  }
}

type Finding = Pick<HealthCheck, 'ok' | 'detail'>

/** Where this server is reached from outside. */
function toNotifyUrl(name: string, { listen }: GatewayConfig): string {
  return `${getSiteOrigin(listen)}/payments/${name}/notify`
}

/** What the provider's list of endpoints lacks, in words that name the difference. */
function compareEndpoints(endpoints: readonly NotificationEndpoint[], name: string, config: GatewayConfig): Finding {
  const url = toNotifyUrl(name, config)
  const { hostname, pathname } = new URL(url)
  if (isPrivateHost(hostname))
    return {
      ok: true,
      detail: `${name} answers, and cannot send to ${hostname}, an address of a private network: orders are found by asking. Set SITE_URL to the public address`,
    }
  const ownEndpoint = endpoints.find((endpoint) => endpoint.url === url)
  if (ownEndpoint !== undefined)
    return ownEndpoint.missingEvents.length === 0
      ? { ok: true, detail: `${name} sends to ${url}` }
      : {
          ok: false,
          detail: `${name} sends to ${url}, but not these events: ${ownEndpoint.missingEvents.join(', ')}; add them there`,
        }
  const others = endpoints.filter((endpoint) => endpoint.url.includes(pathname)).map((endpoint) => endpoint.url)
  return {
    ok: false,
    detail:
      others.length === 0
        ? `${name} has no endpoint for ${url}: add it there, and its secret here (docs/payments.md). Until then orders are found by asking`
        : `${name} sends to ${others.join(' and ')}, and this server is at ${url}: change the endpoint, or SITE_URL`,
  }
}

/** The way that the provider's own notifications take. */
async function sendTest(
  url: string,
  { signTestNotification }: NonNullable<PaymentProvider['diagnose']>,
  dispatcher: Dispatcher,
): Promise<Finding> {
  const { method, headers, body, query } = await signTestNotification()
  try {
    const answer = await request(query === '' ? url : `${url}?${query}`, {
      method,
      headers,
      dispatcher,
      ...(method === 'GET' ? {} : { body }),
      signal: systemClock.deadline(timeoutMs),
    })
    await answer.body.dump()
    return explainStatus(answer.statusCode, url)
  } catch (error) {
    const { hostname } = new URL(url)
    const reason = describeError(error)
    return isPrivateHost(hostname)
      ? { ok: true, detail: `a test notification was not sent: no server answers at ${url} (${reason})` }
      : {
          ok: false,
          detail: `a test notification did not arrive at ${url} (${reason}); start the server, or, where this machine cannot reach its own public address, run doctor elsewhere`,
        }
  }
}

function explainStatus(status: number, url: string): Finding {
  if (status >= 200 && status <= 299) return { ok: true, detail: `a signed test notification arrives at ${url}` }
  const reasons: Readonly<Record<number, string>> = {
    400: 'the running server has another secret; restart it',
    404: 'the running server does not have this provider, or a proxy does not pass /payments on; restart it, and check the proxy',
    413: 'a proxy limits the size of bodies; allow 256 KiB',
    429: 'the limit of requests for this address is used up; try again in a minute',
  }
  const redirect =
    status >= 300 && status <= 399
      ? 'it is redirected, which providers do not follow; set SITE_URL to the address at its end'
      : undefined
  return {
    ok: false,
    detail: `a signed test notification is answered with ${status} at ${url}: ${reasons[status] ?? redirect ?? 'see the log of the server and of the proxies before it'}`,
  }
}
