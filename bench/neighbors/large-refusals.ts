/**
 * Large requests that are refused, in parallel: what each client reads, through each shipped proxy and without one, whether a member is
 * served meanwhile, and what senders that never stop hold. Prints one table in Markdown; exits with 1 unless each client reads the envelope.
 *
 *   node bench/neighbors/large-refusals.ts [--only part-of-a-name] [--count 1000] [--parallel 1000] [--bytes 1000000]
 *
 * It needs nginx, Caddy, Apache, HAProxy and Varnish of Debian; Python, curl and Go where they are installed.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Agent } from 'undici'
import { findProgram } from '../../test/support/require-program.ts'
import { configurations } from '../../test/support/proxies/configurations.ts'
import { createTemporaryFolder } from '../../test/support/temporary-folder.ts'
import type { MemberTurns } from './large-refusals/member.ts'
import { ProgramScope } from '../cluster/program-scope.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    count: { type: 'string', default: '1000' },
    parallel: { type: 'string', default: '1000' },
    bytes: { type: 'string', default: '1000000' },
  },
})
const [count, parallel, bytes] = [Number(values.count), Number(values.parallel), Number(values.bytes)]
const scope = new ProgramScope()
const folder = createTemporaryFolder(scope)
const run = promisify(execFile)
const chat = '/v1/chat/completions'

interface Started {
  readonly url: string
  readonly good: string
  readonly limited: string
  readonly poor: string
}

const child = spawn(process.execPath, [join(import.meta.dirname, 'large-refusals/gateway.ts'), String(bytes)], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
scope.teardown(async () => {
  child.stdin.end()
  await once(child, 'exit')
})
const [line] = (await once(child.stdout, 'data')) as [Buffer]
const gateway = JSON.parse(String(line)) as Started

const createBody = (length: number): Buffer =>
  Buffer.from(JSON.stringify({ model: 'svc', messages: [{ role: 'user', content: 'A'.repeat(length - 200) }] }))
const refusals = [
  { kind: '401, a bad key', status: 401, token: 'svc_live_made_up', path: chat, length: bytes },
  { kind: '402, no credits', status: 402, token: gateway.poor, path: chat, length: bytes },
  { kind: '403, another origin', status: 403, token: '', path: '/api/membership/auth/device/start', length: bytes },
  { kind: '404, an unknown path', status: 404, token: gateway.good, path: '/v1/nothing', length: bytes },
  { kind: '413, too large', status: 413, token: gateway.good, path: chat, length: bytes * 1.5 },
  { kind: '429, a rate limit', status: 429, token: gateway.limited, path: chat, length: bytes },
]

type Outcomes = Readonly<Record<string, number>>
type Row = readonly [subject: string, kind: string, outcomes: Outcomes, isRight: boolean, others: string]

/** Sends all of them, and short turns of a member at the same time. */
async function measure(
  subject: string,
  { kind, status }: { readonly kind: string; readonly status: number },
  send: () => Promise<Outcomes>,
): Promise<Row> {
  const started = performance.now()
  const endMember = startMember()
  const outcomes = await send()
  const member = await endMember()
  const seconds = ((performance.now() - started) / 1_000).toFixed(1)
  const others = `${seconds} s; ${describeMember(member)}; ${readRss(child.pid ?? 0)} MB`
  const row = [
    subject,
    kind,
    outcomes,
    Object.keys(outcomes).every((outcome) => outcome.endsWith(' envelope') || outcome === '200') &&
      outcomes[`${status} envelope`] !== undefined &&
      member.failed === 0,
    others,
  ] as const
  process.stderr.write(`${subject}, ${kind}: ${JSON.stringify(outcomes)}; ${others}\n`)
  return row
}

/** Starts the member; the result resolves with what it met until then. */
function startMember(): () => Promise<MemberTurns> {
  const workerData = { url: `${gateway.url}${chat}`, token: gateway.good }
  const worker = new Worker(new URL('large-refusals/member.ts', import.meta.url), { workerData })
  return async () => {
    worker.postMessage('end')
    const [found] = (await once(worker, 'message')) as [MemberTurns]
    return found
  }
}

function describeMember({ turns, failed, medianMs, maxMs }: MemberTurns): string {
  return `${turns} turns of a member, ${failed} failed, median ${Math.round(medianMs)} ms, at most ${Math.round(maxMs)} ms`
}

function readRss(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
}

async function repeat(send: () => Promise<string>): Promise<Outcomes> {
  const outcomes: Record<string, number> = {}
  let begun = 0
  await Promise.all(
    Array.from({ length: Math.min(parallel, count) }, async () => {
      while (begun++ < count) {
        const outcome = await send().catch((error: Error) => String(error.cause ?? error).slice(0, 100))
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      }
    }),
  )
  return outcomes
}

const describe = (status: number, text: string): string => `${status}${text.includes('"requestId"') ? ' envelope' : ''}`

/** Lines of `count outcome`. */
function parseOutcomes(output: string): Outcomes {
  return Object.fromEntries(
    output
      .trim()
      .split('\n')
      .map((each) => [each.slice(each.indexOf(' ') + 1), Number.parseInt(each)]),
  )
}

const headersOf = (token: string): Record<string, string> => ({
  'content-type': 'application/json',
  ...(token === ''
    ? { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
    : { authorization: `Bearer ${token}` }),
})

const rows: Row[] = []

for (const configuration of configurations.filter(({ name }) => name.includes(values.only))) {
  const proxyScope = new ProgramScope()
  const node = new URL(gateway.url).host
  const proxy = await configuration.start(proxyScope, [node, node])
  if (proxy === undefined) continue
  for (const refusal of refusals) {
    // Connections of their own, used once where `parallel` is `count`: Apache closes idle ones without notice while all its threads are busy.
    const client = proxy.createClient()
    const body = createBody(refusal.length)
    rows.push(
      await measure(configuration.name, refusal, () =>
        repeat(async () => {
          const response = await client.fetch(refusal.path, { method: 'POST', headers: headersOf(refusal.token), body })
          return describe(response.status, await response.text())
        }),
      ),
    )
  }
  await proxyScope.close()
}

if ('no proxy'.includes(values.only)) {
  const file = join(folder, 'body.json')
  const agent = new Agent({ connections: parallel, headersTimeout: 120_000 })
  const threads = String(Math.min(parallel, 200))
  const go = findProgram('go')
  if (go !== undefined)
    await run(go, ['build', '-o', join(folder, 'client'), join(import.meta.dirname, 'large-refusals/client.go')], {
      env: { ...process.env, GO111MODULE: 'off' },
    })
  for (const refusal of refusals.filter(({ token }) => token !== '')) {
    const [url, body] = [gateway.url + refusal.path, createBody(refusal.length)]
    writeFileSync(file, body)
    const options = { maxBuffer: 1e9, timeout: 300_000 }
    const args = [url, refusal.token, file, String(count), threads]
    const curlHeaders = Object.entries(headersOf(refusal.token)).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const curl = async (): Promise<Outcomes> => {
      const many = Array.from({ length: count }, () => `url = "${url}"\noutput = "/dev/null"`).join('\n')
      writeFileSync(join(folder, 'curl'), many)
      const { stdout } = await run(
        'curl',
        [
          '-sK',
          join(folder, 'curl'),
          '-Z',
          '--parallel-max',
          threads,
          ...curlHeaders,
          '--data-binary',
          `@${file}`,
          '-w',
          '%{http_code} envelope %{size_download}\\n',
        ],
        options,
      ).catch((error: { stdout: string }) => error)
      const lines = stdout
        .trim()
        .split('\n')
        .map((each) => each.replace(/ envelope (\d+)$/, (_, size) => (Number(size) > 200 ? ' envelope' : '')))
      return Object.fromEntries([...Map.groupBy(lines, (each) => each)].map(([outcome, all]) => [outcome, all.length]))
    }
    rows.push(
      await measure('Node', refusal, () =>
        repeat(async () => {
          const { request } = await import('undici')
          const response = await request(url, { dispatcher: agent, method: 'POST', headers: headersOf(refusal.token), body })
          return describe(response.statusCode, await response.body.text())
        }),
      ),
      await measure('Python urllib', refusal, async () =>
        parseOutcomes((await run('python3', [join(import.meta.dirname, 'large-refusals/urllib.py'), ...args], options)).stdout),
      ),
      await measure('curl', refusal, curl),
    )
    if (go !== undefined)
      rows.push(
        await measure('Go', refusal, async () => parseOutcomes((await run(join(folder, 'client'), args, options)).stdout)),
      )
  }
}

if ('senders that never stop'.includes(values.only)) {
  const before = readRss(child.pid ?? 0)
  const started = performance.now()
  const piece = Buffer.alloc(65_536)
  let [largest, received, lastMs] = [0, 0, 0]
  const watch = setInterval(() => (largest = Math.max(largest, readRss(child.pid ?? 0))), 100)
  const endMember = startMember()
  const { hostname, port } = new URL(gateway.url)
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      socket.once('data', () => (received += 1))
      const send = (): void => {
        while (!socket.destroyed && socket.write(piece)) continue
      }
      socket.on('drain', send)
      socket.write(
        `POST ${chat} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer bad\r\ncontent-type: application/json\r\ncontent-length: ${2 ** 40}\r\n\r\n`,
      )
      send()
      await new Promise((resolve) => socket.once('close', resolve))
      lastMs = performance.now() - started
    }),
  )
  clearInterval(watch)
  const member = await endMember()
  process.stdout.write(
    `${parallel} senders that never stop: closed after at most ${(lastMs / 1_000).toFixed(1)} s, ${received} had read an answer; memory ${before} → at most ${largest} MB; ` +
      `${describeMember(member)}\n\n`,
  )
}

process.stdout.write(`| | refused | ${count} clients read | as it should be | meanwhile |\n|---|---|---|---|---|\n`)
for (const [subject, kind, outcomes, isRight, others] of rows)
  process.stdout.write(
    `| ${subject} | ${kind} | ${Object.entries(outcomes)
      .map(([outcome, times]) => `${times} × ${outcome}`)
      .join(', ')} | ${isRight ? 'yes' : '**no**'} | ${others} |\n`,
  )
await scope.close()
process.exit(rows.every(([, , , isRight]) => isRight) ? 0 : 1)
