/** What the SDKs of members assemble from the answers of other vendors through the gateway: streamed and whole, in three API formats. */
import t from 'tap'
import type { Test } from 'tap'
import { join } from 'node:path'
import { findPython, openEnvironment, runToEnd } from '../../../support/python/environment.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { openClientPackages } from '../client-packages.ts'
import type { ClientPackages } from '../client-packages.ts'
import { startVendorServer, usage, vendorAnswers } from './vendor-answers.ts'
import type { Assembled, VendorAnswer } from './vendor-answers.ts'
import { nodeClients } from './node-clients.ts'
import type { Ask } from './node-clients.ts'

interface Started {
  readonly gateway: TestGateway
  readonly account: string
  readonly apiKey: string
}

/** `svc-2.1` is streamed by its upstream, and `svc-2.1-pro` is answered whole where the member asks so. */
async function start(t: Test): Promise<Started> {
  const server = await startVendorServer(t)
  const gateway = await startGateway(t, {
    upstreams: { main: { baseUrl: server.url }, whole: { baseUrl: server.url, streams: false } },
    products: { 'svc-2.1-pro': { targets: [{ upstream: 'whole', model: 'up' }] } },
  })
  const { id, token } = await gateway.createMember()
  return { gateway, account: id, apiKey: token }
}

/** Each answer streamed, whole from a stream, and whole. */
const modes = [
  { how: 'streamed', model: 'svc-2.1', streamed: true },
  { how: 'whole, from a stream', model: 'svc-2.1', streamed: false },
  { how: 'whole', model: 'svc-2.1-pro', streamed: false },
] as const

const requests = modes.flatMap((mode) =>
  vendorAnswers
    .filter(({ message }) => mode.how !== 'whole' || message !== null)
    .map((answer) => ({ ...mode, answer, prompt: `Give: ${answer.name}.` })),
)

/** Compares without the ids that the gateway gives, which are unique. */
function check(t: Test, { expected }: VendorAnswer, assembled: Assembled | null, how: string, keepsReasoning = true): void {
  if (expected === null || assembled === null) return void t.equal(assembled, expected, how)
  const given = assembled.calls.map(({ id }) => id)
  t.equal(new Set(given).size, given.length, `${how}: the ids differ`)
  t.ok(!given.includes(''), `${how}: each call has an id`)
  const isCut = expected.calls.some(({ input }) => input === undefined)
  const wanted = {
    ...expected,
    reasoning: keepsReasoning ? expected.reasoning : assembled.reasoning,
    calls: expected.calls.map((each, at) => ({ ...each, id: each.id === '' ? given[at] : each.id })),
  }
  t.same(isCut ? { ...assembled, calls: assembled.calls.map(({ id, name }) => ({ id, name })) } : assembled, wanted, how)
}

/** Failed turns are free; all others cost what the upstream reported. */
async function checkCharges(t: Test, { gateway, account }: Started): Promise<void> {
  await gateway.waitUntilSettled()
  const turns = await gateway.listTurns(account)
  const settled = turns.filter(({ state }) => state === 'settled')
  t.equal(settled.length, requests.filter(({ answer }) => answer.expected !== null).length, 'settled turns')
  const [inputTokens, outputTokens] = [usage.prompt_tokens, usage.completion_tokens]
  for (const turn of settled) t.match(turn, { inputTokens, outputTokens, estimated: false })
  for (const turn of turns.filter(({ state }) => state !== 'settled')) t.match(turn, { state: 'refunded' })
}

for (const { name, keepsReasoning, create } of nodeClients)
  t.test(`${name} assembles the answers of other vendors`, async (t) => {
    const packages: ClientPackages | undefined = await openClientPackages(t)
    if (packages === undefined) return
    const started = await start(t)
    const ask: Ask = await create(packages, { origin: started.gateway.url, apiKey: started.apiKey })
    for (const { answer, how, prompt, model, streamed } of requests) {
      const title = `${answer.name}, ${how}`
      let assembled: Assembled | null = null
      try {
        assembled = await ask({ prompt, model, streamed })
      } catch (error) {
        if (answer.expected !== null) t.error(error, title)
      }
      check(t, answer, assembled, title, keepsReasoning === 'always' || (keepsReasoning === 'whole' && !streamed))
    }
    await checkCharges(t, started)
  })

for (const client of ['openai', 'anthropic'])
  t.test(`${client} for Python assembles the answers of other vendors`, async (t) => {
    const python = findPython()
    if ('reason' in python) {
      if (process.env['CI'] === 'true') return void t.fail(python.reason)
      return void t.plan(0, python.reason)
    }
    const started = await start(t)
    const program = join(import.meta.dirname, '../../python/programs/assemble_answers.py')
    const asked = requests.map(({ prompt, model, streamed }) => ({ prompt, model, streamed }))
    const printed = await runToEnd(await openEnvironment('openai-3', python), [program, client, JSON.stringify(asked)], {
      env: { PATH: process.env['PATH'], BASE_URL: started.gateway.url, API_KEY: started.apiKey, PYTHONDONTWRITEBYTECODE: '1' },
    })
    const lines = printed.split('\n').filter((line) => line.startsWith('{"assembled"'))
    t.equal(lines.length, requests.length)
    for (const [at, { answer, how }] of requests.entries()) {
      const { assembled, error } = JSON.parse(lines[at] ?? '{}') as {
        readonly assembled: Assembled | null
        readonly error: string | null
      }
      const title = `${answer.name}, ${how}`
      if (answer.expected !== null) t.equal(error, null, title)
      check(t, answer, assembled, title)
    }
    await checkCharges(t, started)
  })
