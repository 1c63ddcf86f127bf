/**
 * Large requests to a node that cannot serve them, because its database does not answer or because it stops: each client reads our
 * envelope, through nginx and without a proxy, over HTTP/1.1 and HTTP/2.
 */
import { join } from 'node:path'
import t from 'tap'
import { Agent, fetch } from 'undici'
import { AccountSeeder } from '../../support/cluster/account-seeder.ts'
import { startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import { startServerProcess, writeTestConfig } from '../../support/processes/server-process.ts'
import { findConfiguration, nodeThatIsDown } from '../../support/proxies/configurations.ts'
import { FaultProxy } from '../../support/servers/fault-proxy.ts'
import { startPostgresServer } from '../../support/servers/postgres/postgres.ts'
import { createSelfSignedCertificate } from '../../support/servers/tls-certificate.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import type { TestScope } from '../../support/test-scope.ts'
import { writeThenRead } from '../../support/write-then-read.ts'

t.jobs = 2

/** More than the buffers of a connection hold, so that a client still sends when it is refused. */
const body = JSON.stringify({ model: 'svc', messages: [{ role: 'user', content: 'A'.repeat(9 * 1024 * 1024) }] })
const atOnce = 2

type Post = (token: string) => Promise<Answer>

interface Answer {
  readonly status: number
  readonly code: string | undefined
}

/** A way to the gateway. */
interface Client {
  readonly name: string
  readonly post: Post
}

interface Listeners {
  /** The gateway's own origins. */
  readonly plain: string
  readonly tls: { readonly url: string; readonly ca: Buffer }
}

async function createClients(t: TestScope, { plain, tls }: Listeners): Promise<readonly Client[] | undefined> {
  const proxy = await findConfiguration('nginx, one node').start(t, [new URL(plain).host, nodeThatIsDown])
  if (proxy === undefined) return undefined
  const post =
    (url: string, dispatcher: Agent): Post =>
    async (token) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      return read(await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body, dispatcher }))
    }
  const createAgent = (options: Agent.Options): Agent => {
    const agent = new Agent(options)
    t.teardown(() => agent.destroy())
    return agent
  }
  const throughProxy =
    (http2: boolean): Post =>
    // A session of its own for each request: Node's client has memory for ten megabytes in a session.
    async (token) => {
      const { origin, dispatcher } = proxy.createClient({ http2 })
      return post(origin, dispatcher)(token)
    }
  const ca = tls.ca.toString()
  return [
    {
      name: 'HTTP/1.1 without a proxy',
      async post(token) {
        const { failure, text } = await writeThenRead(plain, createRequest(token))
        if (failure !== null) throw new Error(failure)
        return toAnswer(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text)
      },
    },
    {
      name: 'HTTP/2 without a proxy',
      post: (token) => post(tls.url, createAgent({ allowH2: true, connect: { ca } }))(token),
    },
    { name: 'HTTP/1.1 through nginx', post: throughProxy(false) },
    { name: 'HTTP/2 through nginx', post: throughProxy(true) },
  ]
}

async function read(response: Awaited<ReturnType<typeof fetch>>): Promise<Answer> {
  return toAnswer(response.status, await response.text())
}

function toAnswer(status: number, text: string): Answer {
  return { status, code: /"code": ?"(\w+)"/.exec(text)?.[1] }
}

function createRequest(token: string): string {
  const headers = `host: here\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
  return `POST /v1/chat/completions HTTP/1.1\r\n${headers}\r\n\r\n${body}`
}

/** The answers of some requests at once by each client; a request without an answer has its failure. */
async function postToAll(clients: readonly Client[], token: string): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const all = clients.map(async ({ name, post }) => {
    const answers = Array.from({ length: atOnce }, () => post(token).catch((error: Error) => String(error.cause ?? error)))
    return [name, await Promise.all(answers)] as const
  })
  return Object.fromEntries(await Promise.all(all))
}

function expectFromAll(clients: readonly Client[], answer: Answer): Readonly<Record<string, readonly Answer[]>> {
  return Object.fromEntries(clients.map(({ name }) => [name, Array.from({ length: atOnce }, () => answer)]))
}

t.test('a node whose database does not answer refuses with 503', async (t) => {
  const postgres = await startPostgresServer(t, async () => {})
  if (postgres === undefined) return
  const storeUrl = await postgres.createDatabase(t, { empty: true })
  const database = new URL(storeUrl)
  const databaseProxy = await FaultProxy.start(t, Number(database.port))
  database.port = String(databaseProxy.port)
  const folder = createTemporaryFolder(t)
  const { cert, key, ca } = createSelfSignedCertificate(folder)
  const start = async (name: string, tls: object | null): Promise<string> => {
    const listen = `{ ...base.listen, tls: ${JSON.stringify(tls)}, trustedProxies: ['127.0.0.1'] }`
    const dataDir = join(folder, name)
    const { url, output, log } = await startServerProcess(t, {
      STORE_URL: database.href,
      DATA_DIR: dataDir,
      SMTP_URL: 'smtp://127.0.0.1:9',
      GATEWAY_CONFIG: writeTestConfig(createTemporaryFolder(t), `{ ...base, listen: ${listen} }`),
    })
    if (url === '') throw new Error(`no start: ${output()}${log()}`)
    return url
  }
  const plain = await start('plain', null)
  const clients = await createClients(t, { plain, tls: { url: await start('tls', { cert, key }), ca } })
  if (clients === undefined) return
  const seeder = await AccountSeeder.open(t, storeUrl)
  const member = await seeder.createMember('free')
  databaseProxy.isBlocked = true
  const expected = expectFromAll(clients, { status: 503, code: 'temporarily_unavailable' })
  t.same(await postToAll(clients, member.key.token), expected)
})

t.test('a node that stops refuses a bad key with 401, also bodies that began to arrive before', async (t) => {
  const { cert, key, ca } = createSelfSignedCertificate(createTemporaryFolder(t))
  const timeouts = { drainNoticeMs: 10_000 }
  const g = await startGateway(t, { timeouts, listen: { trustedProxies: ['127.0.0.1'] } })
  const tls = await startGateway(t, { timeouts, listen: { tls: { cert, key } } })
  const clients = await createClients(t, { plain: g.url, tls: { url: tls.url, ca } })
  if (clients === undefined) return
  const discarders = [g, tls].map(({ services }) => services.bodyDiscarder)
  const early = postToAll(clients, 'svc_live_made_up')
  await waitUntil(() => discarders.every(({ running }) => running > 0), 'bodies to be discarded', 1)
  const closing = [g, tls].map(({ gateway }) => gateway.close({ drainMs: 60_000 }))
  const expected = expectFromAll(clients, { status: 401, code: 'sign_in_required' })
  const late = postToAll(clients, 'svc_live_made_up')
  t.same(await early, expected, 'bodies that began to arrive before')
  t.same(await late, expected, 'bodies that began to arrive afterwards')
  await Promise.all(closing)
})
