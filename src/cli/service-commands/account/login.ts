/**
 * Device login (RFC 8628): shows an address and a code, waits until the user approves the request in a browser, and stores the
 * session. The address is printed before the browser is opened: on a machine without a display the user has nothing else.
 */
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { pollDevice, startDevice } from '../../../api/membership/devices.ts'
import type { listPlans } from '../../../api/membership/plans.ts'
import type { signOut } from '../../../api/membership/sign-in.ts'
import type { CommandHandler } from '../../command.ts'
import type { Context } from '../../context.ts'
import type { StoredSession } from '../../user-config/credentials.ts'
import { CredentialStore } from '../../user-config/credentials.ts'
import { CommandFailure } from '../../failure.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import { readVersion } from '../../../system/version.ts'
import { offerBrowser } from '../client/offer-browser.ts'
import { callEndpoint } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import type { Site } from '../client/site.ts'
import { readSite, signInHint } from '../client/site.ts'
import { isBrand, Settings } from '../../user-config/settings.ts'

export const run: CommandHandler = async (context, _args, options) => {
  const site = await discoverBrand(context, readSite(context))
  const store = new CredentialStore(context.environment)
  // Before the user approves anything: a session that cannot be stored would be lost.
  store.assertWritable()
  if (site.siteUrl.startsWith('http:') && !isLoopback(new URL(site.siteUrl).hostname)) {
    context.printNote({ en: 'Warning: this address is not encrypted (http)', zh: '警告：该地址未加密（http）' })
  }
  const { answer } = await callEndpoint<typeof startDevice>(context, site, {
    method: 'POST',
    path: '/api/membership/auth/device/start',
    body: { client: `${site.brand}-cli`, client_version: readVersion(), hostname: hostname() },
  })
  const authorization = parseDeviceAuthorization(answer, site)
  printVerificationPrompt(context, authorization)
  const stopOffering = offerBrowser(context, authorization.verificationUriComplete, options.getFlag('no-browser'))
  try {
    const stopProgress = context.showProgress({
      en: 'Waiting for your approval in the browser …',
      zh: '正在等待你在浏览器中批准 …',
    })
    const approval = await waitForApproval(context, site, authorization).finally(stopProgress)
    const session = toSession(approval, site, context.now())
    const previousSession = await saveSession(context, site, store, session)
    if (previousSession !== undefined) await endSession(context, site, previousSession.token)
    context.printResult({ site: site.siteOrigin, account: session.account ?? null, expires_at: session.expiresAt ?? null }, () =>
      context.localize({
        en: `Signed in at ${site.siteOrigin}${formatAccount(session)}.`,
        zh: `已登录 ${site.siteOrigin}${formatAccount(session)}。`,
      }),
    )
  } finally {
    stopOffering()
  }
}

/** Stores the brand that the service reports, for all later commands. A service that reports none leaves the stored brand. */
async function discoverBrand(context: Context, site: Site): Promise<Site> {
  const settings = new Settings(context.environment)
  if (settings.get('brand').from === 'environment') return site
  const slug = await callEndpoint<typeof listPlans>(context, site, { method: 'GET', path: '/api/membership/plans' }).then(
    ({ answer }) => answer.brand?.slug,
    () => undefined,
  )
  if (typeof slug !== 'string' || !isBrand(slug) || slug === site.brand) return site
  settings.set('brand', slug)
  return { ...site, brand: slug }
}

/** Returns the previous session. A session that cannot be stored is ended at the service, because no client holds it. */
async function saveSession(
  context: Context,
  site: Site,
  store: CredentialStore,
  session: StoredSession,
): Promise<StoredSession | undefined> {
  try {
    const before = store.read(site.siteOrigin)
    store.save(site.siteOrigin, session)
    return before
  } catch (error) {
    await endSession(context, site, session.token)
    throw error
  }
}

/** Ends a replaced session at the service. A failure is ignored: the session expires by itself. */
async function endSession(context: Context, site: Site, token: string): Promise<void> {
  try {
    await callEndpoint<typeof signOut>(context, site, {
      method: 'POST',
      path: '/api/membership/auth/sign-out',
      body: {},
      credential: { kind: 'session', token, from: 'file' },
      timeoutMs: 5000,
    })
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    context.printDetail({ en: 'A session that is not stored here could not be ended.', zh: '未能结束一个未在本机保存的登录。' })
  }
}

type Poll = DeepPartial<ResponseOf<typeof pollDevice>>
type ApprovedPoll = Extract<Poll, { readonly sessionToken?: string | undefined }>
type PendingPoll = Exclude<Poll, { readonly status?: 'approved' | undefined }>

interface DeviceAuthorization {
  readonly deviceCode: string
  readonly userCode: string
  readonly verificationUri: string
  readonly verificationUriComplete: string
  readonly intervalMs: number
  readonly expiresInMs: number
}

function parseDeviceAuthorization(answer: DeepPartial<ResponseOf<typeof startDevice>>, site: Site): DeviceAuthorization {
  const {
    device_code: deviceCode,
    verification_uri_complete: verificationUriComplete,
    verification_uri: uri,
    user_code: userCode,
  } = answer
  if (typeof deviceCode !== 'string' || typeof verificationUriComplete !== 'string') {
    throw new CommandFailure('unexpected_answer', {
      en: `${site.siteOrigin} did not start a device login.`,
      zh: `${site.siteOrigin} 未能开始设备登录。`,
    })
  }
  return {
    deviceCode,
    verificationUriComplete,
    userCode: sanitizeLine(userCode ?? ''),
    verificationUri: uri ?? verificationUriComplete,
    // RFC 8628: five seconds where the server names no interval.
    intervalMs: (answer.interval ?? 5) * 1000,
    expiresInMs: (answer.expires_in ?? 600) * 1000,
  }
}

function printVerificationPrompt(context: Context, authorization: DeviceAuthorization): void {
  if (context.json) {
    const { userCode, verificationUri, verificationUriComplete, expiresInMs } = authorization
    context.printEvent({
      event: 'device_code',
      user_code: userCode,
      verification_uri: verificationUri,
      verification_uri_complete: verificationUriComplete,
      expires_in: expiresInMs / 1000,
    })
  }
  // Not a note: `--quiet` must keep this line, because sign-in is impossible without it.
  context.stderr.write(
    [
      context.localize({ en: 'Open this address in a browser and approve:', zh: '请在浏览器中打开以下地址并批准：' }),
      '',
      `  ${sanitizeLine(authorization.verificationUriComplete)}`,
      '',
      context.localize({
        en: `The code there must be: ${authorization.userCode}`,
        zh: `页面上的设备码应为：${authorization.userCode}`,
      }),
      '',
    ].join('\n'),
  )
}

/** Polls at the server's interval until the user has decided. A short network failure does not end the login. */
async function waitForApproval(context: Context, site: Site, authorization: DeviceAuthorization): Promise<ApprovedPoll> {
  const endsAt = context.now() + authorization.expiresInMs
  let intervalMs = authorization.intervalMs
  while (context.now() < endsAt) {
    await sleep(intervalMs, undefined, { signal: context.signal })
    const answer = await poll(context, site, authorization.deviceCode)
    if (answer instanceof CommandFailure) {
      const wait = answer.code === 'rate_limited' ? Number(answer.details?.['retryAfter'] ?? 0) : 0
      intervalMs = Math.min(Math.max(intervalMs * 2, wait * 1000), 60_000)
      context.printDetail(answer.text)
    } else if ('sessionToken' in answer && answer.sessionToken !== undefined) {
      return answer
    } else {
      const { error, interval: namedInterval } = answer as PendingPoll
      const slower = error === 'slow_down' ? intervalMs + 5000 : intervalMs
      intervalMs = namedInterval === undefined ? slower : namedInterval * 1000
    }
  }
  throw new CommandFailure(
    'expired_token',
    { en: 'The code has expired before it was approved.', zh: '设备码在批准之前已过期。' },
    { exit: 'signIn', hints: [signInHint] },
  )
}

/** A temporary failure counts as a poll without a decision. */
async function poll(context: Context, site: Site, deviceCode: string): Promise<Poll | CommandFailure> {
  try {
    const { answer } = await callEndpoint<typeof pollDevice>(context, site, {
      method: 'POST',
      path: '/api/membership/auth/device/poll',
      body: { device_code: deviceCode },
    })
    return answer
  } catch (error) {
    if (error instanceof CommandFailure && transientExits.has(error.exit)) return error
    throw error
  }
}

const transientExits: ReadonlySet<string> = new Set(['tryAgain', 'timeout'])

function toSession(
  { sessionToken = '', account = {}, expires_at: expiresAt }: ApprovedPoll,
  site: Site,
  now: number,
): StoredSession {
  const { id, email_masked: email, plan } = account
  return {
    token: sessionToken,
    apiOrigin: site.apiOrigin,
    signedInAt: now,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    account: {
      ...(id === undefined ? {} : { id }),
      ...(email == null ? {} : { email_masked: email }),
      ...(plan === undefined ? {} : { plan }),
    },
  }
}

function formatAccount({ account }: StoredSession): string {
  const email = sanitizeLine(account?.email_masked ?? '')
  const plan = sanitizeLine(account?.plan ?? '')
  return email === '' ? '' : ` · ${email}${plan === '' ? '' : ` · ${plan}`}`
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host.startsWith('127.')
}
