/** Runs workbench commands while a user types in the focused pane and detects changes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Test } from 'tap'
import { isCommandGroup } from '../../../../../src/command-table/command.ts'
import { workbenchCommands } from '../../../../../src/cli/workbench-commands/index.ts'
import { flattenCommands } from '../../../../../src/command-table/flatten-commands.ts'
import { requireProgram } from '../../../../support/require-program.ts'
import type { SvcResult } from '../../../../support/cli/run-svc.ts'
import { runSvcProcess, startSvcProcess, runSvc } from '../../../../support/cli/run-svc.ts'
import { startSshd } from '../../../../support/servers/sshd.ts'
import { createFolder } from '../../workbench/support/test-workbench.ts'
import { startSite } from '../../workbench/support/form-site.ts'
import type { User } from '../../workbench/support/user.ts'
import { attachUser } from '../../workbench/support/user.ts'

/** The only commands that may move the focus. */
export const focusCommands: ReadonlySet<string> = new Set([
  'workspace focus',
  'workspace next',
  'workspace previous',
  'workspace last',
  'pane focus',
  'pane last',
  'notification open',
  'notification next-unread',
  'browser focus',
  'attach',
])

export interface Scene {
  readonly dir: string
  readonly user: User
  readonly site: string
  run(words: readonly string[], input?: string): Promise<SvcResult>
  start(words: readonly string[]): ReturnType<typeof startSvcProcess>
  /** The command's result with `--json`; fails the test if the command fails. */
  result(t: Test, words: readonly string[], input?: string): Promise<Readonly<Record<string, unknown>>>
}

export type Case = (t: Test, scene: Scene) => Promise<unknown>

/** A command line that only has to succeed. */
export const succeeds =
  (...words: readonly string[]): Case =>
  (t, scene) =>
    scene.result(t, words)

/**
 * Runs each command line in this process; the first one as the real program, which starts the real workbench and leaves it running.
 * Meanwhile a user types in the focused pane: each command must work and change nothing that the user sees. Every entry of the
 * families must have a case.
 */
export async function assertKeepsFocus(
  t: Test,
  families: readonly string[],
  cases: Readonly<Record<string, Case>>,
): Promise<Scene | undefined> {
  if (!requireProgram(t, 'tmux') || !requireProgram(t, 'chromium', 'google-chrome') || !requireProgram(t, '/usr/sbin/sshd'))
    return undefined
  const rows = flattenCommands(workbenchCommands)
    .filter(({ path, spec }) => !isCommandGroup(spec) && families.includes(path[0] ?? ''))
    .map(({ path }) => path.join(' '))
  t.strictSame(
    rows.filter((row) => !focusCommands.has(row)).sort(),
    Object.keys(cases).sort(),
    'each row that is no focus command has a case',
  )
  const scene = await createScene(t)
  for (const [name, work] of Object.entries(cases)) {
    await t.test(name, async (t) => {
      const noticed = await scene.user.observeDuring('<', () => work(t, scene), '>')
      t.strictSame(
        { notices: noticed.notices, received: noticed.received, state: noticed.after },
        { notices: [], received: '<>', state: noticed.before },
        `svc ${name} changes nothing that the user sees`,
      )
    })
  }
  return scene
}

async function createScene(t: Test): Promise<Scene> {
  const dir = createFolder(t)
  const sshd = await startSshd(t, dir)
  const site = await startSite(t)
  const home = join(dir, 'home')
  mkdirSync(home)
  mkdirSync(join(dir, 'folder'))
  writeFileSync(join(dir, 'a file'), randomBytes(300_000))
  writeFileSync(join(dir, 'text'), 'hello\u001b[1m\n')
  const env = {
    PATH: `${sshd.bin}:${process.env['PATH']}`,
    XDG_RUNTIME_DIR: join(dir, 'run'),
    XDG_STATE_HOME: join(dir, 'state'),
    SHELL: '/bin/sh',
    PS1: '$ ',
    ...(process.getuid?.() === 0 ? { SVC_BROWSER_SANDBOX: 'off' } : {}),
  }
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 })
  const start: Scene['start'] = (words) => startSvcProcess(words, { home, env, cwd: dir })
  const run: Scene['run'] = (words, input) => runSvc(words, { home, env, cwd: dir, input })
  const result: Scene['result'] = async (t, words, input) => {
    const { stdout, stderr, code } = await run([...words, '--json'], input)
    t.equal(code, 0, `svc ${words.join(' ')}: ${stderr}${stdout.slice(0, 300)}`)
    return (JSON.parse(stdout) as { result: Readonly<Record<string, unknown>> }).result
  }
  t.teardown(async () => {
    await run(['workbench', 'stop', '--kill'])
  })
  t.match(
    await run(['workspace', 'list', '--no-start']),
    { code: 3, stderr: /not reachable/ },
    'nothing is started when that is forbidden',
  )
  // The first command starts the workbench. A second workspace is behind the focused one.
  t.match(await runSvcProcess(['workspace', 'new', '--title', 'Two'], { home, env, cwd: dir }), { code: 0 })
  const user = await attachUser(t, {
    dir,
    settings: { runDir: join(env.XDG_RUNTIME_DIR, 'svc'), env: { ...env, HOME: home, LANG: 'C.UTF-8' } },
  })
  await user.record()
  return { dir, user, site, run, start, result }
}
