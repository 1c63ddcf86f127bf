/** Notices of the operator in `svc`: once, on a terminal alone, and never in what programs read. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { runSvc } from '../../../support/cli/run-svc.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

const hourMs = 3_600_000
const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: null } as const

async function open(t: Test) {
  const gateway = await startGateway(t)
  const { notices } = gateway.services.membership
  const home = t.testdir({})
  const run = (
    words: readonly string[],
    { columns = 100, env = {} }: { columns?: number | null; env?: Record<string, string> } = {},
  ) => runSvc(words, { home, site: gateway.url, env, ...(columns === null ? {} : { columns }) })
  const add = async (en: string | null, zh: string | null = null) => {
    const now = Date.now()
    const content = { kind: 'disturbance', text: { en, zh }, startsAt: now, endsAt: now + hourMs } as const
    const result = await notices.add(content, author)
    if (result.kind !== 'written') throw new Error(`it was refused: ${result.why}`)
    return result.notice
  }
  return { gateway, notices, home, run, add }
}

t.test('a notice is one line on standard error of a terminal, once, and again when it has changed', async (t) => {
  const { notices, home, run, add } = await open(t)
  const notice = await add('Answers are slow.')
  for (const [words, options] of [
    [['plans', '--json'], {}],
    [['plans', '--quiet'], {}],
    [['plans'], { columns: null }],
    [['man'], {}],
  ] as const)
    t.notMatch(await run(words, options), { stderr: /slow/ }, words.join(' '))
  const { code, stdout, stderr } = await run(['plans'])
  t.equal(code, 0)
  t.match(stderr, /^Disturbance until .+: Answers are slow\.\n$/)
  t.notMatch(stdout, /slow/)
  t.equal(statSync(join(home, 'svc/notices.json')).mode & 0o777, 0o600)
  t.equal((await run(['plans'])).stderr, '')
  await notices.change(notice, { text: { en: 'Answers are slow until noon.', zh: null } }, author)
  t.match((await run(['plans'], { env: { SVC_LANG: 'zh' } })).stderr, /^故障（至 .+）: Answers are slow until noon\.\n$/)
  t.equal((await run(['plans'])).stderr, '')
  t.match(JSON.parse(readFileSync(join(home, 'svc/notices.json'), 'utf8')), { version: 1 })
})

t.test('a failed command shows it behind its failure, and a service without notices changes nothing', async (t) => {
  const { run, add } = await open(t)
  t.equal((await run(['plans'])).stderr, '')
  await add(null, '正在维护。')
  t.match(
    (await run(['models'], { env: { SVC_API_KEY: 'svc_live_none' } })).stderr,
    /Ref: [^\n]+\nDisturbance[^\n]+正在维护。\n$/,
  )
})
