/**
 * The figures of the console after a day of faults: 1 200 turns of six members on a real server, with upstreams and clients that fail, a
 * `kill -9` with turns in flight, another configuration after it, and a deleted account. Every total equals the ledger's rows.
 */
import { join } from 'node:path'
import t from 'tap'
import { findFreePort } from '../../../../support/free-port.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import type { RunOperatorCommand } from '../../../../support/gateway/operator-cli.ts'
import { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { createTemporaryFolder, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { startServerProcess, writeTestConfig } from '../../../../support/processes/server-process.ts'
import { startFakeUpstream } from '../../../../support/upstream/server.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'
import {
  compareCommands,
  compareFailures,
  compareLists,
  compareMembers,
  compareMetrics,
  compareNow,
  compareUsage,
} from '../../../../support/figures/compare-figures.ts'
import { countHeldTurns, filterTurns, readLedgerTurns } from '../../../../support/figures/ledger-turns.ts'
import { createRandom } from '../../../../simulated/random.ts'
import type { Random } from '../../../../simulated/random.ts'

// A zone whose days begin at half an hour of UTC.
const timeZone = 'Australia/Lord_Howe'
const memberCount = 6
const turnsBeforeKill = 800
const turnsInFlight = 8
const turnsAfterKill = 400
const lanes = 16

/** What the upstream does, and whether the client stays. The rest of a script is the usual answer. */
const fates = [
  { script: { tokens: 12 } },
  { script: { tokens: 30 }, isStream: true },
  { script: { tokens: 9, usage: { prompt_tokens: 900, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 600 } } } },
  { script: { tokens: 7, usage: null }, isStream: true },
  { script: { status: 500 } },
  { script: { status: 503 } },
  { script: { status: 429 } },
  { script: { status: 400, body: { error: { message: 'no', type: 'invalid_request_error' } } } },
  { script: { tokens: 20, reset: { afterEvents: 6 } }, isStream: true },
  { script: { tokens: 20, cut: { afterEvents: 6 } }, isStream: true },
  { script: { html: true } },
  { script: { empty: true } },
  { script: { tokens: 10, error: { at: 'last' } }, isStream: true },
  // The client leaves within the answer, which is charged as far as it went.
  { script: { tokens: 400, betweenMs: 5 }, isStream: true, leavesAfterBytes: 1 },
] as const satisfies readonly object[]
type Fate = { readonly script: object; readonly isStream?: boolean; readonly leavesAfterBytes?: number }

interface Member {
  readonly email: string
  readonly id: string
  readonly keys: readonly string[]
}

t.test('every figure is the ledger’s, and opens its turns', async (t) => {
  const upstream = await startFakeUpstream({ scripted: true, maxCalls: 10 })
  t.teardown(() => upstream.close())
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'gateway.db')
  const cost = { input: 0.4, cachedInput: 0.04, output: 1.25 }
  const main = (weight: number) => ({ upstream: 'main', model: 'demo-flagship', weight, cost })
  const products = {
    'svc-2.1': { targets: [main(1)] },
    // The first target refuses connections, so turns move on.
    'svc-2.1-rev': { targets: [{ upstream: 'gone', model: 'demo-flagship', weight: 1 }, main(0)] },
    auto: { targets: [{ upstream: 'other', model: 'demo-light', weight: 1 }] },
  }
  const calm = { restAfterFailures: 0, rejectedKeyRestMs: 0 }
  const changes = {
    timeZone,
    limits: { addressRpm: 1_000_000 },
    upstreams: {
      main: { baseUrl: upstream.url, ...calm },
      other: { baseUrl: upstream.url, ...calm },
      gone: { baseUrl: `http://127.0.0.1:${await findFreePort()}/v1`, ...calm },
    },
  }
  const writeConfig = (names: readonly (keyof typeof products)[]): string =>
    writeTestConfig(
      createTemporaryFolder(t),
      `{ ...base, ...${JSON.stringify(changes)}, plans: { ...base.plans, max: { ...base.plans.max, rpm: 1_000_000, concurrency: 1_000, models: 'all' } },
        products: Object.fromEntries(Object.entries(base.products).filter(([id]) => !${JSON.stringify(Object.keys(products))}.includes(id) || ${JSON.stringify(names)}.includes(id))
          .map(([id, product]) => [id, { ...product, ...(${JSON.stringify(products)})[id] }])) }`,
    )
  const environment = { DATA_DIR: folder, LOG_LEVEL: 'error', METRICS_TOKEN: 'scrape-me', UPSTREAM_BASE_URL: upstream.url }
  const models = { UPSTREAM_MODEL_FLAGSHIP: 'demo-flagship', UPSTREAM_MODEL_LIGHT: 'demo-light' }
  const start = (names: readonly (keyof typeof products)[]) =>
    startServerProcess(t, { ...environment, ...models, GATEWAY_CONFIG: writeConfig(names) })
  const run = createOperatorCli(t, folder, { timeZone })

  let server = await start(['svc-2.1', 'svc-2.1-rev', 'auto'])
  t.ok(server.url, server.log())
  const members = await createMembers(run)
  const [rich, poor] = members as [Member, Member]
  await run('boost', 'grant', '--account', rich.email, '--pool', 'fast', '--credits', '300000', '--expires', '30d')
  await run('adjust', poor.email, '--pool', 'premium', '--credits', '-500', '--reason', 'a correction')
  const random = createRandom(41)
  await sendTurns(server.url, members, { random, count: turnsBeforeKill, models: Object.keys(products) })
  await waitUntil(() => countHeldTurns(file) === 0, 'every turn to end')
  let turns = readLedgerTurns(file)
  t.ok(turns.length > turnsBeforeKill * 0.9, `${turns.length} turns were held`)
  const endings = new Set(turns.map(({ ending }) => ending))
  t.ok(endings.size >= 5, `they ended in many ways: ${[...endings].join(', ')}`)
  compareMetrics(t, await scrape(server.url), turns, 0)

  const killed = new AbortController()
  const inFlight = Array.from({ length: turnsInFlight }, (_, index) =>
    chat(server.url, members[index % memberCount]?.keys[0] ?? '', {
      model: 'svc-2.1',
      fate: { script: { hang: 'after_headers' }, isStream: true },
      signal: killed.signal,
    }),
  )
  await waitUntil(() => countHeldTurns(file) === turnsInFlight, 'turns in flight')
  await server.terminate('SIGKILL')
  killed.abort()
  await Promise.all(inFlight)

  // Without the product that most turns were of until now.
  server = await start(['svc-2.1', 'auto'])
  if (server.url === '') throw new Error(server.log())
  const before = turns.length
  await sendTurns(server.url, members, { random, count: turnsAfterKill, models: ['svc-2.1', 'auto'] })
  const leaver = members.at(-1) as Member
  t.match(await run('account', 'delete', leaver.email, '--yes'), { code: 0 })
  await waitUntil(() => countHeldTurns(file) === 0, 'every turn to end')
  turns = readLedgerTurns(file)
  t.equal(turns.filter(({ state }) => state === 'expired').length, turnsInFlight, 'what the killed server held is released')
  const newest = Math.max(...turns.map(({ process }) => process))
  const ofSecond = turns.filter(({ process }) => process === newest)
  t.equal(ofSecond.length + turnsInFlight + before, turns.length)
  compareMetrics(t, await scrape(server.url), ofSecond, turnsInFlight)

  const console = await openByShell(run, server.url, folder)
  const collected = async (): Promise<boolean> =>
    (await console.get(`${server.url}/api/operator/v1/turns?limit=1`)).body.behind_ms === 0
  await waitUntil(collected, 'the lists to have every turn')
  const figures = { t, url: server.url, console, turns, now: Date.now(), timeZone }
  await compareNow(figures, ofSecond, { expired: turnsInFlight })
  await compareLists(figures)
  await compareUsage(figures)
  await compareFailures(figures)
  await compareMembers({ ...figures, turns: turns.filter(({ account }) => account !== leaver.id) }, { [rich.id]: 300_000 })
  await compareCommands(figures, run)
  t.ok(filterTurns(turns, { member: leaver.id }).length > 0, 'a deleted account is in all of them')
  t.equal(await server.terminate('SIGTERM'), 0)
})

async function createMembers(run: RunOperatorCommand): Promise<readonly Member[]> {
  const members: Member[] = []
  for (let nth = 1; nth <= memberCount; nth += 1) {
    const email = `member-${nth}@example.com`
    const read = async (...words: string[]) => {
      const { code, stdout, stderr } = await run(...words, '--json')
      if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
      return stdout
    }
    const { id } = JSON.parse(await read('account', 'create', '--email', email)) as { readonly id: string }
    await read('account', 'set-plan', email, '--plan', 'max')
    const keys = []
    for (const name of ['one', 'two']) {
      const made = JSON.parse(await read('key', 'create', '--account', email, '--name', name)) as { readonly token: string }
      keys.push(made.token)
    }
    members.push({ email, id, keys })
  }
  return members
}

async function sendTurns(
  url: string,
  members: readonly Member[],
  { random, count, models }: { readonly random: Random; readonly count: number; readonly models: readonly string[] },
): Promise<void> {
  let left = count
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      // Drawn at once, so that all that a turn is follows from its number.
      const [member, nth, model, fate] = [
        random.choose(members),
        random.below(2),
        random.choose(models),
        random.choose<Fate>(fates),
      ]
      await chat(url, member.keys[nth] ?? '', { model, fate })
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** Reads the answer, or leaves after its first bytes. Whatever comes of it is in the ledger. */
async function chat(
  url: string,
  key: string,
  { model, fate, signal }: { readonly model: string; readonly fate: Fate; readonly signal?: AbortSignal },
): Promise<void> {
  const leave = new AbortController()
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream: fate.isStream === true,
        max_tokens: 500,
        messages: [{ role: 'user', content: `demo:${JSON.stringify(fate.script)}` }],
      }),
      signal: signal === undefined ? leave.signal : AbortSignal.any([signal, leave.signal]),
    })
    if (fate.leavesAfterBytes === undefined) await response.text()
    else {
      await response.body?.getReader().read()
      leave.abort()
    }
  } catch {
    // A reset answer, or the test's own end of it.
  }
}

async function scrape(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })
  if (response.status !== 200) throw new Error(`no metrics: ${response.status}`)
  return response.text()
}

/** As a newcomer opens it, with the link that the command prints. */
async function openByShell(run: RunOperatorCommand, url: string, dataDir: string): Promise<WebsiteClient> {
  const { stdout } = await run('console', '--json')
  const token = /token=([\w-]+)/.exec(stdout)?.[1] ?? ''
  const browser = new WebsiteClient({ url, config: { store: { dataDir } } })
  const address = `${url}/operator/link`
  const fields = readFormFields((await browser.get(`${address}?token=${token}`)).body, { action: 'open' })
  await sendForm(browser, address, fields)
  return browser
}
