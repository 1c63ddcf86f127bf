/** Commands of the workbench as they are typed, while a user types in the pane in front and looks for changes. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Test } from 'tap'
import { isGroup } from '../../../../src/cli/command.ts'
import { localCommands } from '../../../../src/cli/local/index.ts'
import { walk } from '../../../../src/cli/walk.ts'
import { requireProgram } from '../../../support/real-parts.ts'
import type { Ended } from '../../../support/run-svc.ts'
import { runProgram, startSvc, svc } from '../../../support/run-svc.ts'
import { startSshd } from '../../../support/sshd.ts'
import { folder } from '../../workbench/support/bench.ts'
import { startSite } from '../../workbench/support/site.ts'
import type { User } from '../../workbench/support/user.ts'
import { attachUser } from '../../workbench/support/user.ts'

/** The only commands that may move the focus. */
export const focusRows: ReadonlySet<string> = new Set([
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
  run(words: readonly string[], input?: string): Promise<Ended>
  start(words: readonly string[]): ReturnType<typeof startSvc>
  /** What the command answered with `--json`; fails the test when it failed. */
  result(t: Test, words: readonly string[], input?: string): Promise<Readonly<Record<string, unknown>>>
}

export type Case = (t: Test, scene: Scene) => Promise<unknown>

/** A command line whose success is enough. */
export const works =
  (...words: readonly string[]): Case =>
  (t, scene) =>
    scene.result(t, words)

/**
 * Runs each command line in this process; the first is the real program, which starts the real workbench and leaves it. Meanwhile a
 * user types in the pane in front: each must do its work and change nothing that the user sees. Every row of the families has to have
 * a case.
 */
export async function provesQuiet(
  t: Test,
  families: readonly string[],
  cases: Readonly<Record<string, Case>>,
): Promise<Scene | undefined> {
  if (!requireProgram(t, 'tmux') || !requireProgram(t, 'chromium', 'google-chrome') || !requireProgram(t, '/usr/sbin/sshd'))
    return undefined
  const rows = walk(localCommands)
    .filter(({ path, row }) => !isGroup(row) && families.includes(path[0] ?? ''))
    .map(({ path }) => path.join(' '))
  t.strictSame(
    rows.filter((row) => !focusRows.has(row)).sort(),
    Object.keys(cases).sort(),
    'each row that is no focus command has a case',
  )
  const scene = await prepare(t)
  for (const [name, work] of Object.entries(cases)) {
    await t.test(name, async (t) => {
      const noticed = await scene.user.during('<', () => work(t, scene), '>')
      t.strictSame(
        { notices: noticed.notices, received: noticed.received, state: noticed.after },
        { notices: [], received: '<>', state: noticed.before },
        `svc ${name} changes nothing that the user sees`,
      )
    })
  }
  return scene
}

async function prepare(t: Test): Promise<Scene> {
  const dir = folder(t)
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
  const start: Scene['start'] = (words) => startSvc(words, { home, env, cwd: dir })
  const run: Scene['run'] = (words, input) => svc(words, { home, env, cwd: dir, input })
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
  // The first command starts the workbench. Behind what is in front there is a second workspace.
  t.match(await runProgram(['workspace', 'new', '--title', 'Two'], { home, env, cwd: dir }), { code: 0 })
  const user = await attachUser(t, {
    dir,
    settings: { runDir: join(env.XDG_RUNTIME_DIR, 'svc'), env: { ...env, HOME: home, LANG: 'C.UTF-8' } },
  })
  await user.record()
  return { dir, user, site, run, start, result }
}
