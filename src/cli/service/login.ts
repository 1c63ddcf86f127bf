/**
 * Device login (RFC 8628 in the service's words): shows an address and a code, waits until the request is approved in a browser,
 * and keeps the session that comes back. The address is printed before anything else is tried: on a machine without a
 * display it is all there is.
 */
import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnswerOf } from '../../api/endpoint.ts'
import type { pollDevice, startDevice } from '../../api/membership/devices.ts'
import type { listPlans } from '../../api/membership/plans.ts'
import type { signOut } from '../../api/membership/sign-in.ts'
import type { Run } from '../command.ts'
import type { Context } from '../context.ts'
import type { StoredSession } from '../credentials.ts'
import { CredentialStore } from '../credentials.ts'
import { CommandFailure } from '../failure.ts'
import { terminalLine } from '../terminal-text.ts'
import { version } from '../version.ts'
import { ask } from './client.ts'
import type { Told } from './client.ts'
import type { Site } from './site.ts'
import { readSite, signInHint } from './site.ts'
import { isBrand, Settings } from '../settings.ts'

export const run: Run = async (context, _args, options) => {
  const site = await learnBrand(context, readSite(context))
  const store = new CredentialStore(context.environment)
  // Before anybody approves anything: a session that cannot be kept would be lost.
  store.prove()
  if (site.siteUrl.startsWith('http:') && !isLoopback(new URL(site.siteUrl).hostname)) {
    context.note({ en: 'warning: this address is not encrypted (http)', zh: '警告:该地址未加密(http)' })
  }
  const { answer } = await ask<typeof startDevice>(context, site, {
    method: 'POST',
    path: '/api/membership/auth/device/start',
    body: { client: `${site.brand}-cli`, client_version: version(), hostname: hostname() },
  })
  const start = readStart(answer, site)
  tell(context, start)
  const stopOffering = offerBrowser(context, start.completeUri, options.flag('no-browser'))
  try {
    const approved = await waitForApproval(context, site, start)
    const session = toSession(approved, site, context.now())
    const before = await keep(context, site, store, session)
    if (before !== undefined) await end(context, site, before.token)
    context.result({ site: site.siteOrigin, account: session.account ?? null, expires_at: session.expiresAt ?? null }, () =>
      context.say({
        en: `Signed in at ${site.siteOrigin}${asWhom(session)}.`,
        zh: `已登录 ${site.siteOrigin}${asWhom(session)}。`,
      }),
    )
  } finally {
    stopOffering()
  }
}

/** The service says what its names begin with; kept for all later commands. One that does not say is taken to be as it was. */
async function learnBrand(context: Context, site: Site): Promise<Site> {
  const settings = new Settings(context.environment)
  if (settings.get('brand').from === 'environment') return site
  const told = await ask<typeof listPlans>(context, site, { method: 'GET', path: '/api/membership/plans' }).then(
    ({ answer }) => answer.brand?.slug,
    () => undefined,
  )
  if (typeof told !== 'string' || !isBrand(told) || told === site.brand) return site
  settings.set('brand', told)
  return { ...site, brand: told }
}

/** Gives the session that was there before. One that could not be kept after all must not stay open at the service, where nobody has it. */
async function keep(
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
    await end(context, site, session.token)
    throw error
  }
}

/** Leaves no forgotten session open at the service. That it could not be ended is no reason to fail: it ends by itself. */
async function end(context: Context, site: Site, token: string): Promise<void> {
  try {
    await ask<typeof signOut>(context, site, {
      method: 'POST',
      path: '/api/membership/auth/sign-out',
      body: {},
      credential: { kind: 'session', token, from: 'file' },
      timeoutMs: 5000,
    })
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    context.detail({ en: 'A session that is not kept here could not be ended.', zh: '未能结束一个未在本机保存的会话。' })
  }
}

type Poll = Told<AnswerOf<typeof pollDevice>>
type Approved = Extract<Poll, { readonly sessionToken?: string | undefined }>
type Waiting = Exclude<Poll, { readonly status?: 'approved' | undefined }>

interface Start {
  readonly deviceCode: string
  readonly userCode: string
  readonly uri: string
  readonly completeUri: string
  readonly intervalMs: number
  readonly lifeMs: number
}

function readStart(told: Told<AnswerOf<typeof startDevice>>, site: Site): Start {
  const { device_code: deviceCode, verification_uri_complete: completeUri, verification_uri: uri, user_code: userCode } = told
  if (typeof deviceCode !== 'string' || typeof completeUri !== 'string') {
    throw new CommandFailure('unexpected_answer', {
      en: `${site.siteOrigin} did not start a device login.`,
      zh: `${site.siteOrigin} 未能开始设备登录。`,
    })
  }
  return {
    deviceCode,
    completeUri,
    userCode: terminalLine(userCode ?? ''),
    uri: uri ?? completeUri,
    // RFC 8628: five seconds where the server names no interval.
    intervalMs: (told.interval ?? 5) * 1000,
    lifeMs: (told.expires_in ?? 600) * 1000,
  }
}

function tell(context: Context, start: Start): void {
  if (context.json) {
    const { userCode, uri, completeUri, lifeMs } = start
    context.event({
      event: 'device_code',
      user_code: userCode,
      verification_uri: uri,
      verification_uri_complete: completeUri,
      expires_in: lifeMs / 1000,
    })
  }
  // Not a note: without this line nobody could sign in, so `--quiet` keeps it.
  context.stderr.write(
    [
      context.say({ en: 'Open this address in a browser and approve:', zh: '请在浏览器中打开以下地址并批准:' }),
      '',
      `  ${terminalLine(start.completeUri)}`,
      '',
      context.say({ en: `The code there must be: ${start.userCode}`, zh: `页面上的代码应为:${start.userCode}` }),
      '',
    ].join('\n'),
  )
}

/** Polls at the server's pace until the user has decided. A network that fails for a moment does not end the login. */
async function waitForApproval(context: Context, site: Site, start: Start): Promise<Approved> {
  const endsAt = context.now() + start.lifeMs
  let intervalMs = start.intervalMs
  while (context.now() < endsAt) {
    await sleep(intervalMs, undefined, { signal: context.signal })
    const answer = await poll(context, site, start.deviceCode)
    if (answer instanceof CommandFailure) {
      const wait = answer.code === 'rate_limited' ? Number(answer.details?.['retryAfter'] ?? 0) : 0
      intervalMs = Math.min(Math.max(intervalMs * 2, wait * 1000), 60_000)
      context.detail(answer.text)
    } else if ('sessionToken' in answer && answer.sessionToken !== undefined) {
      return answer
    } else {
      const { error, interval: named } = answer as Waiting
      const slower = error === 'slow_down' ? intervalMs + 5000 : intervalMs
      intervalMs = named === undefined ? slower : named * 1000
    }
  }
  throw new CommandFailure(
    'expired_token',
    { en: 'The code has expired before it was approved.', zh: '代码在批准之前已过期。' },
    { exit: 'signIn', hints: [signInHint] },
  )
}

/** A failure that may pass is an answer too. */
async function poll(context: Context, site: Site, deviceCode: string): Promise<Poll | CommandFailure> {
  try {
    const { answer } = await ask<typeof pollDevice>(context, site, {
      method: 'POST',
      path: '/api/membership/auth/device/poll',
      body: { device_code: deviceCode },
    })
    return answer
  } catch (error) {
    if (error instanceof CommandFailure && passing.has(error.exit)) return error
    throw error
  }
}

const passing: ReadonlySet<string> = new Set(['tryAgain', 'timeout'])

function toSession({ sessionToken = '', account = {}, expires_at: expiresAt }: Approved, site: Site, now: number): StoredSession {
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

function asWhom({ account }: StoredSession): string {
  const email = terminalLine(account?.email_masked ?? '')
  const plan = terminalLine(account?.plan ?? '')
  return email === '' ? '' : ` · ${email}${plan === '' ? '' : ` · ${plan}`}`
}

/**
 * Enter opens the browser, and only Enter: a window is never opened by itself. Only where a person and a display are; over ssh the
 * browser would open on the wrong machine.
 */
function offerBrowser(context: Context, address: string, refused: boolean): () => void {
  const { stdin, stderr, environment } = context
  const isWeb = /^https?:$/.test(URL.parse(address)?.protocol ?? '')
  if (refused || !isWeb || !stdin.isTTY || !stderr.isTerminal || !hasDisplay(environment.variables, environment.platform))
    return () => {}
  context.note({ en: 'Press Enter to open it here, or just wait.', zh: '按回车键在本机打开,或直接等待。' })
  const onEnter = () => openBrowser(address, environment.platform)
  stdin.once('data', onEnter)
  stdin.resume()
  return () => {
    stdin.off('data', onEnter)
    stdin.pause()
  }
}

function hasDisplay(variables: Readonly<Record<string, string | undefined>>, platform: NodeJS.Platform): boolean {
  const set = (name: string) => (variables[name] ?? '') !== ''
  if (set('SSH_CONNECTION') || set('SSH_TTY')) return false
  return platform === 'darwin' || platform === 'win32' || set('DISPLAY') || set('WAYLAND_DISPLAY')
}

function openBrowser(address: string, platform: NodeJS.Platform): void {
  const [program, ...words] =
    platform === 'darwin' ? ['open', address] : platform === 'win32' ? ['explorer.exe', address] : ['xdg-open', address]
  const opener = spawn(program ?? '', words, { stdio: 'ignore', detached: true })
  // The address is on the screen already; a missing opener is no reason to stop waiting.
  opener.on('error', () => {})
  opener.unref()
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host.startsWith('127.')
}
