/** Dex, an OpenID provider of its own project, with users in memory. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { requireGoProgram } from '../go-program.ts'

export interface DexUser {
  /** What the person enters. */
  readonly email: string
  /** Dex derives the subject from it. */
  readonly userId: string
  readonly emailVerified?: boolean
}

export interface DexClient {
  readonly id: string
  readonly secret: string
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris?: readonly string[]
}

export interface Dex {
  readonly issuer: string
  /** Starts it anew at the same address with other users, new keys and no sessions. */
  restart(users: readonly DexUser[]): Promise<void>
  /** Follows Dex's pages as a browser with these cookies does; returns the address outside Dex that it ends at. */
  signIn(start: string, email: string, cookies?: Map<string, string>): Promise<string>
}

const password = 'password'
const passwordHash = '$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W'

/** Undefined where Dex has not been built: the test is skipped, or fails on CI. */
export async function startDex(t: Test, client: DexClient, users: readonly DexUser[]): Promise<Dex | undefined> {
  const program = requireGoProgram(t, 'dex')
  if (program === undefined) return undefined
  let child: ChildProcess | undefined
  const stop = async (): Promise<void> => {
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null) return
    running.kill('SIGKILL')
    await once(running, 'exit')
  }
  t.teardown(stop)
  const start = async (people: readonly DexUser[], address: string): Promise<string> => {
    const started = spawn(program, { stdio: ['pipe', 'pipe', 'ignore'] })
    child = started
    started.stdin.end(
      JSON.stringify({
        address,
        clients: [
          {
            id: client.id,
            secret: client.secret,
            name: 'Gateway',
            redirectURIs: client.redirectUris,
            postLogoutRedirectURIs: client.postLogoutRedirectUris ?? [],
          },
        ],
        passwords: people.map(({ email, userId, emailVerified = true }) => ({
          email,
          hash: Buffer.from(passwordHash).toString('base64'),
          username: userId,
          emailVerified,
          userID: userId,
        })),
      }),
    )
    const [issuer] = (await once(createInterface(started.stdout), 'line')) as [string]
    return issuer
  }
  const issuer = await start(users, '')
  return {
    issuer,
    async restart(people) {
      await stop()
      await start(people, new URL(issuer).host)
    },
    signIn: (begin, email, cookies = new Map()) => followPages(begin, { login: email, password }, issuer, cookies),
  }
}

async function followPages(
  start: string,
  form: Readonly<Record<string, string>>,
  issuer: string,
  cookies: Map<string, string>,
): Promise<string> {
  let address = start
  let isPost = false
  for (let step = 0; step < 12; step++) {
    const response = await fetch(address, {
      method: isPost ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(isPost ? { body: new URLSearchParams(form) } : {}),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const location = response.headers.get('location')
    if (location !== null) {
      address = new URL(location, address).href
      isPost = false
      if (!address.startsWith(issuer)) return address
      continue
    }
    const page = await response.text()
    const action = /<form method="post" action="([^"]+)"/.exec(page)?.[1]
    if (action === undefined || isPost) throw new Error(`Dex showed an unexpected page: ${page.slice(0, 2_000)}`)
    address = new URL(action.replaceAll('&amp;', '&'), address).href
    isPost = true
  }
  throw new Error('Dex did not come to an end')
}
