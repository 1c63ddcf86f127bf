/** Every command at the widths of usual terminals: no line is wider, so that no terminal cuts a word or wraps a table. */
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import { flattenCommands } from '../../../src/command-table/flatten-commands.ts'
import { parseCommandLine } from '../../../src/command-table/parse-command-line.ts'
import { svcProgram } from '../../../src/cli/program.ts'
import { measureWidth } from '../../../src/system/terminal/measure-width.ts'
import { runSvc } from '../../support/cli/run-svc.ts'
import { createStreamRoute, sendJson, startStubGateway } from '../../support/cli/stub-gateway.ts'
import { requireProgram } from '../../support/require-program.ts'
import { startTestWorkbench } from './workbench/support/test-workbench.ts'

const widths = [60, 80, 100, 120]

/** A single word may be wider: an address that is cut cannot be followed. */
function assertFits(t: Test, text: string, columns: number, title: string): void {
  for (const line of stripVTControlCharacters(text).split('\n'))
    t.ok(measureWidth(line) <= columns || !/\S\s\S/.test(line), `${title} at ${columns} columns: ${JSON.stringify(line)}`)
}

t.test('the help of every command fits, in both languages; only its examples, which are copied, may be wider', async (t) => {
  for (const columns of widths)
    for (const language of ['en', 'zh'] as const)
      for (const path of [[], ...flattenCommands(svcProgram.commands).map((place) => place.path)]) {
        const request = parseCommandLine([...path, '--help'], svcProgram, language, columns)
        const text = request.kind === 'help' ? request.text : ''
        t.ok(text.length > 100)
        assertFits(t, text.replaceAll(/^ {2}(?:\S.*\b)?svc .*$/gm, ''), columns, `svc ${path.join(' ')} --help`)
      }
})

t.test('the commands of the service fit', async (t) => {
  const id = (at: number) => `mbr_01M871WSHA0008BN2C8EWP3M${String(at).padStart(2, '0')}`
  const account = { id: 'acc_1', email_masked: 'm***@a-rather-long-domain.example.org', plan: 'pro' }
  const pools = ['fast', 'premium'].flatMap((tier) =>
    ['day', 'week', 'month'].map((window) => ({
      tier,
      window,
      limit: 5_000_000,
      used: 123_456,
      reserved: 0,
      remaining: 4_876_544,
      resets_at: '2027-01-01T00:00:00Z',
    })),
  )
  const boosts = [
    { id: 'p', kind: 'checkin', tier: 'fast', granted: 20_000, remaining: 12_500, expires_at: '2027-01-02T00:00:00Z' },
  ]
  const turns = Array.from({ length: 5 }, (_, at) => ({
    request_id: id(at),
    model: 'svc-2.1-pro',
    tier: 'premium',
    state: 'refunded',
    code: 'upstream_model_unavailable',
    input_tokens: 123_456,
    cached_input_tokens: 98_304,
    output_tokens: 12_345,
    credits: 1_234_567,
    started_at: '2026-11-24T07:24:00Z',
  }))
  const price = { amount: 20, currency: 'USD', interval: 'month' }
  const plan = {
    id: 'pro',
    name: 'Professional',
    prices: [price, { ...price, amount: 200, interval: 'year' }],
    pools: {
      fast: { day: 400_000, week: 1_600_000, month: 4_500_000 },
      premium: { day: 400_000, week: 1_600_000, month: 4_500_000 },
    },
    rpm: 120,
  }
  const server = await startStubGateway({
    'GET /v1/models': (_, response) =>
      sendJson(response, {
        data: ['svc', 'svc-2.1-pro', 'svc-2.1-pro-rev'].map((model) => ({
          id: model,
          tier: 'flagship',
          capabilities: ['chat', 'vision', 'tools', 'reasoning'],
          context_length: 131_072,
          pricing: {
            input: 0.435,
            output: 0.87,
            effective_input: 0.10875,
            effective_cached_input: 0.01125,
            effective_output: 0.2175,
          },
          shutdown_date: model === 'svc' ? '2027-01-01' : undefined,
        })),
      }),
    'GET /api/membership/plans': (_, response) => sendJson(response, { data: [plan, { ...plan, name: 'Max' }] }),
    'GET /api/membership/usage': (_, response) =>
      sendJson(response, { account, plan: 'pro', plan_name: 'Professional', pools, boosts, turns }),
    'GET /api/membership/usage-alerts': (_, response) => sendJson(response, { enabled: true }),
    'GET /api/membership/boost': (_, response) =>
      sendJson(response, {
        balance: 12_500,
        checkin: { available: false, next_at: '2027-01-01T00:00:00Z' },
        invite: { code: 'ABC', url: 'https://example.org/i/ABC', credited: 1, limit: 10 },
        rush: { active: true, ends_at: '2027-01-01T01:00:00Z', remaining: 3 },
        packs: boosts,
      }),
    'POST /v1/chat/completions': createStreamRoute(
      `# Words\n\n${'Some words of prose. '.repeat(20)}\n\n| a | b |\n|--|--:|\n| ${'cell '.repeat(40)} | 5 |\n`,
    ),
    'POST /v1/mcp/tools/call': (_, response) =>
      sendJson(response, {
        schema: 'svc.search.v1',
        answer: 'An answer [1]. '.repeat(20),
        results: [
          {
            index: 1,
            title: 'A title of several words '.repeat(5),
            url: 'https://example.org/a',
            snippet: 'some text '.repeat(40),
          },
        ],
      }),
  })
  t.teardown(() => server.close())
  for (const columns of widths)
    for (const line of [
      'models',
      'plans',
      'usage',
      'usage --turns',
      'alerts',
      'boost status',
      'whoami',
      'config list',
      'chat hi',
      'search words',
      'keys',
      'config path',
    ]) {
      const options = { home: t.testdir(), site: server.origin, columns, env: { SVC_TOKEN: 'svc_sess_x', FORCE_COLOR: '1' } }
      const { code, stdout, stderr } = await runSvc(line.split(' '), options)
      t.equal(code, 0, `svc ${line}: ${stderr}`)
      t.ok(stdout.length > 10, line)
      assertFits(t, withoutDrawing(stdout), columns, `svc ${line}`)
    }
})

t.test('the lists of the workbench fit', async (t) => {
  if (requireProgram(t, 'tmux') === undefined) return
  const workbench = await startTestWorkbench(t)
  for (const title of ['A title that is rather long for a workspace', '中文的标题也相当的长'])
    await workbench.client.call('workspace.create', { title, cwd: workbench.dir, env: {} })
  await workbench.client.call('notification.create', {
    title: 'Tests',
    body: 'all passed, and much more is written here '.repeat(5),
    sound: false,
  })
  for (const columns of widths)
    for (const line of [
      'workspace list',
      'workspace show 1',
      'pane list --all',
      'notification list',
      'browser list',
      'ssh list',
      'tree',
      'identify',
      'workbench status',
      'workbench doctor',
    ]) {
      const { stdout, stderr } = await runSvc([...line.split(' '), '--socket', workbench.settings.socketPath], {
        home: workbench.settings.home,
        columns,
      })
      t.equal(stderr, '', line)
      assertFits(t, stdout, columns, `svc ${line}`)
    }
})

/** What a view drew while an answer grew is taken back by a movement and a clearing. */
function withoutDrawing(output: string): string {
  return output.split('\u001b[J').at(-1) ?? ''
}
