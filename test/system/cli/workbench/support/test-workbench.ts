/** A real host in this process, on a real socket, for the tests of the methods. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import type { WorkbenchClient } from '../../../../../src/cli/workbench-commands/connection/workbench-client.ts'
import { connectWorkbench } from '../../../../../src/cli/workbench-commands/connection/workbench-client.ts'
import type { Host } from '../../../../../src/cli/workbench/host.ts'
import { startHost } from '../../../../../src/cli/workbench/host.ts'
import type { Focus } from '../../../../../src/cli/workbench/protocol/results.ts'
import { getTmuxCommand } from '../../../../../src/cli/workbench/tmux/session.ts'
import type { Settings } from '../../../../../src/cli/workbench/settings.ts'
import { findProgram } from '../../../../support/require-program.ts'

export interface TestWorkbench {
  readonly dir: string
  readonly settings: Settings
  readonly host: Host
  readonly client: WorkbenchClient
  readonly token: string
  readonly log: Readonly<Record<string, unknown>>[]
  connect(caller?: Focus): Promise<WorkbenchClient>
  /** Stops this host and starts another on the same folders. */
  restart(): Promise<TestWorkbench>
}

/** A test's own folder, short enough for sockets, removed at the end. */
export function createFolder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'svcw-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }))
  return dir
}

export function createTestSettings(dir: string, changes: Partial<Settings> = {}): Settings {
  mkdirSync(join(dir, 'home'), { recursive: true })
  return {
    version: '0.0.0',
    socketPath: join(dir, 'run', 'workbench.sock'),
    runDir: join(dir, 'run'),
    stateDir: join(dir, 'state'),
    home: join(dir, 'home'),
    platform: process.platform,
    env: { PATH: process.env['PATH'] ?? '', HOME: join(dir, 'home'), SHELL: '/bin/sh', LANG: 'C.UTF-8', PS1: '$ ' },
    svc: [process.execPath, join(import.meta.dirname, '../../../../../src/cli/main.ts')],
    // The headless shell, at a third of the cost. Tests on a desktop and through the program cover the browser with windows.
    browser: {
      executable: findProgram('chromium-headless-shell') ?? null,
      sandbox: process.getuid?.() !== 0,
      idleMs: 600_000,
      answerMs: 3_000,
    },
    engine: 'memory',
    strictFocus: true,
    ...changes,
  }
}

/** A real host in this process, on a real socket, and one authenticated client; both end with the test. */
export async function startTestWorkbench(
  t: Test,
  changes: Partial<Settings> = {},
  dir = createFolder(t),
): Promise<TestWorkbench> {
  const settings = createTestSettings(dir, changes)
  const log: Readonly<Record<string, unknown>>[] = []
  const token = randomBytes(32).toString('base64url')
  const host = await startHost(settings, {
    now: Date.now,
    newId: (prefix) => `${prefix}_${randomBytes(6).toString('hex')}`,
    token,
    log: (entry) => log.push(entry),
  })
  t.teardown(async () => {
    await host.stop(true)
    // A stopped host leaves tmux running, so tmux is ended here.
    if (settings.engine !== 'tmux') return
    const [program = 'tmux', ...base] = getTmuxCommand(settings.runDir)
    await promisify(execFile)(program, [...base, 'kill-server'], { env: settings.env }).catch(() => undefined)
  })
  const connect = async (caller?: Focus): Promise<WorkbenchClient> => {
    const client = await connectWorkbench({
      socketPath: settings.socketPath,
      tokenPath: join(settings.runDir, 'workbench.token'),
      platform: process.platform,
      version: '0.0.0',
      caller: caller ?? null,
      timeoutMs: 40_000,
      signal: AbortSignal.timeout(280_000),
    })
    t.teardown(() => client.close())
    return client
  }
  const restart = async (): Promise<TestWorkbench> => {
    await host.stop(false)
    return startTestWorkbench(t, changes, dir)
  }
  return { dir, settings, host, client: await connect(), token, log, connect, restart }
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
