/** Doctor checks of the way from a public address to the gateway, with the missing line of a proxy in each finding. */
import { existsSync } from 'node:fs'
import { buildConnector } from 'undici'
import type { GatewayConfig } from '../../../config/config.ts'
import { readSecret } from '../../../server/installation/open-store.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { CommandError } from '../../installation.ts'
import { checkClientAddress, madeUpHeaders } from './check-client-address.ts'
import { DiagnosticsClient } from './diagnostics-client.ts'
import type { Answer, Report } from './diagnostics-client.ts'
import { createBodyLimitSetting, describeSetting, recognizeProxies, settings } from './proxy-settings.ts'

const what = 'public address'
const connectTimeoutMs = 10_000

/**
 * @param connect opens connections; a test reaches a port of its own under a public name
 * @throws CommandError where `url` is no origin
 */
export async function checkPublicAddress(
  config: GatewayConfig,
  url: string,
  connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false }),
): Promise<readonly HealthCheck[]> {
  const { origin } = parseOrigin(url)
  const { store } = config
  if (store.url === null && !existsSync(new DataFolder(store.dataDir).secret)) {
    const detail = `not tested: ${new DataFolder(store.dataDir).path} has no installation. Run this with the DATA_DIR or STORE_URL of the server`
    return [{ what, ok: false, detail }]
  }
  try {
    const client = new DiagnosticsClient(origin, await readSecret(config), connect)
    try {
      return await runChecks(client, origin)
    } finally {
      await client.close()
    }
  } catch (error) {
    return [{ what, ok: false, detail: `${origin} cannot be tested: ${describeConnectionError(error)}` }]
  }
}

function parseOrigin(url: string): URL {
  const parsedUrl = URL.parse(url)
  if (parsedUrl === null || !['http:', 'https:'].includes(parsedUrl.protocol))
    throw new CommandError(`--from needs an address such as https://models.example.com, not '${url}'.`)
  if (parsedUrl.pathname !== '/' || parsedUrl.search !== '' || parsedUrl.username !== '')
    throw new CommandError(`--from needs an origin without a path, such as ${parsedUrl.origin}: a path prefix is not supported.`)
  return parsedUrl
}

async function runChecks(client: DiagnosticsClient, origin: string): Promise<readonly HealthCheck[]> {
  const plain = await client.fetchReport()
  const { report } = plain
  if (report === null) return [{ what, ok: false, detail: describeWrongAnswer(plain, origin) }]
  const proxies = recognizeProxies(report, plain.headers)
  const context: CheckContext = { client, origin, report, describe: (setting) => describeSetting(setting, proxies) }
  const between = proxies.size === 0 ? '' : `, through ${[...proxies].join(' and ')}`
  const { local } = client
  const isSamePeer = local?.address === report.peer.address
  const isDirect = isSamePeer && local?.port === report.peerPort
  const isProxied =
    !isDirect && (isSamePeer || proxies.size > 0 || report.forwardedFor.length > 0 || report.scheme !== toScheme(origin))
  // Without a proxy the gateway ignores these headers, and would log that the sender is an unknown proxy.
  const forgedAnswer = isProxied || (report.peer.isTrusted && !isDirect) ? await client.fetchReport(madeUpHeaders) : plain
  return [
    { what, ok: true, detail: `${origin} leads to a gateway of this installation${between}` },
    checkScheme(context),
    checkHost(context),
    checkClientAddress({
      plain: report,
      forged: forgedAnswer.report ?? report,
      localAddress: local?.address ?? null,
      isDirect,
      isProxied,
      describe: context.describe,
    }),
    checkHttpVersion(context),
    await checkStream(context),
    await checkBodyLimit(context),
  ]
}

interface CheckContext {
  readonly client: DiagnosticsClient
  readonly origin: string
  readonly report: Report
  /** The missing line of each proxy that may be in between. */
  readonly describe: (setting: Parameters<typeof describeSetting>[0]) => string
}

function describeWrongAnswer({ status, headers, errorCode }: Answer, origin: string): string {
  const { location, server } = headers
  if (status >= 300 && status < 400)
    return `${origin} redirects to ${String(location)}; use --from with the address that members use`
  if (status === 429) return `${origin} answers HTTP 429: the limit of this address is used up; try again in a minute`
  if (errorCode === 'not_found') {
    return (
      `${origin} leads to a gateway that refuses the token of this command: it has another DATA_DIR or STORE_URL, ` +
      'an older version, or a clock that differs by more than five minutes'
    )
  }
  if (errorCode !== null) return `${origin} answers HTTP ${status} (${errorCode})`
  const from = server === undefined ? '' : ` from ${String(server)}`
  if (status >= 502 && status <= 504)
    return `${origin} answers HTTP ${status}${from}, which cannot reach the gateway: check the address and port that it passes requests to`
  return `${origin} answers HTTP ${status}${from}, not from a gateway: check that the proxy passes all paths on`
}

function toScheme(origin: string): string {
  return origin.startsWith('https:') ? 'https' : 'http'
}

function checkScheme({ origin, report, describe }: CheckContext): HealthCheck {
  const check = 'public scheme'
  const scheme = toScheme(origin)
  const isLoopback = /^http:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?::|$)/.test(origin)
  if (scheme === 'http' && !isLoopback)
    return { what: check, ok: false, detail: `${origin} is plain http: passwords and keys go in the clear; use https` }
  const { forwardedProto } = report
  const hint = `missing: ${describe(settings.scheme)}`
  if (forwardedProto === null)
    return {
      what: check,
      ok: true,
      detail: report.scheme === scheme ? scheme : `${scheme}; the gateway receives no X-Forwarded-Proto; ${hint}`,
    }
  if (forwardedProto !== scheme)
    return { what: check, ok: false, detail: `${scheme}, but the gateway receives X-Forwarded-Proto: ${forwardedProto}; ${hint}` }
  return { what: check, ok: true, detail: scheme }
}

function checkHost({ origin, report, describe }: CheckContext): HealthCheck {
  const check = 'public host'
  const { siteUrl, baseUrl, host, publicOrigin } = report
  if (siteUrl === null)
    return {
      what: check,
      ok: false,
      detail: `the gateway has no SITE_URL, so links and cookies are made for an address that members cannot reach; set SITE_URL=${origin}`,
    }
  if (siteUrl !== origin && baseUrl !== origin)
    return {
      what: check,
      ok: false,
      detail: `links lead to ${siteUrl}, not to ${origin}; set SITE_URL=${origin} if members use it, or run --from ${siteUrl}`,
    }
  const { host: expectedHost, hostname } = new URL(origin)
  const hint = `missing: ${describe(settings.host)}`
  const reportedHost = publicOrigin === null ? null : new URL(publicOrigin).host
  if (reportedHost !== null && reportedHost !== expectedHost)
    return {
      what: check,
      ok: false,
      detail: `the gateway receives the host ${reportedHost} in place of ${expectedHost}, and warns in its log of a wrong SITE_URL; ${hint}`,
    }
  if (host === expectedHost || host === hostname) return { what: check, ok: true, detail: expectedHost }
  return {
    what: check,
    ok: true,
    detail: `${expectedHost}; the gateway receives Host: ${host}, which it does not depend on; ${hint}`,
  }
}

function checkHttpVersion({ report }: CheckContext): HealthCheck {
  const check = 'proxy connection'
  const { httpVersion } = report
  if (httpVersion !== '1.0') return { what: check, ok: true, detail: `the gateway receives HTTP/${httpVersion}` }
  const detail = `the gateway receives HTTP/1.0, in which clients cannot tell an answer that was cut off from one that ended; missing: ${describeSetting(settings.httpVersion, new Set())}`
  return { what: check, ok: false, detail }
}

/** Events are sent over 1 200 ms. */
const minSpanMs = 600

async function checkStream({ client, describe }: CheckContext): Promise<HealthCheck> {
  const check = 'public stream'
  const hint = `missing: ${describe(settings.stream)}`
  try {
    const { status, eventsMs } = await client.measureStream()
    const [first = 0, last = 0] = [eventsMs[0], eventsMs.at(-1)]
    if (status !== 200 || eventsMs.length < 5)
      return { what: check, ok: false, detail: `HTTP ${status} with ${eventsMs.length} of 5 events: the stream was cut off` }
    if (last - first < minSpanMs)
      return {
        what: check,
        ok: false,
        detail: `held back: the first of 5 events arrived after ${first} ms and the last after ${last} ms; ${hint}`,
      }
    return { what: check, ok: true, detail: `event by event: the first after ${first} ms, the last after ${last} ms` }
  } catch (error) {
    return { what: check, ok: false, detail: `the stream was cut off: ${describeConnectionError(error)}` }
  }
}

/** At the limit the gateway must receive the body; above it the client must receive the gateway's own refusal. */
async function checkBodyLimit({ client, report: { maxBodyBytes }, describe }: CheckContext): Promise<HealthCheck> {
  const check = 'body limit'
  const hint = `missing: ${describe(createBodyLimitSetting(2 * maxBodyBytes))}`
  const fail = (detail: string): HealthCheck => ({ what: check, ok: false, detail })
  const describeRefusal = (answer: Answer | Error): string =>
    answer instanceof Error ? describeConnectionError(answer) : `HTTP ${answer.status}`
  const post = (bytes: number): Promise<Answer | Error> =>
    client.postBody(bytes).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
  const wholeBodyAnswer = await post(maxBodyBytes)
  if (wholeBodyAnswer instanceof Error || wholeBodyAnswer.report?.bodyBytes !== maxBodyBytes)
    return fail(
      `a request of ${maxBodyBytes} bytes does not reach the gateway, which allows it (${describeRefusal(wholeBodyAnswer)}); ${hint}`,
    )
  const tooLarge = await post(maxBodyBytes + 1)
  if (tooLarge instanceof Error || tooLarge.errorCode !== 'payload_too_large')
    return fail(
      `a request above ${maxBodyBytes} bytes is refused by a proxy and not by the gateway (${describeRefusal(tooLarge)}), so clients cannot read why; ${hint}`,
    )
  return { what: check, ok: true, detail: `${maxBodyBytes} bytes; a larger request receives the gateway's own refusal` }
}

function describeConnectionError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  const isCertificate = code !== undefined && /CERT|SIGNATURE|ALTNAME/.test(code)
  const advice = isCertificate
    ? '; members cannot connect either, or set NODE_EXTRA_CA_CERTS for a certificate authority of your own'
    : ''
  return `${error.message === '' ? String(code) : error.message}${advice}`
}
