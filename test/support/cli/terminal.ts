/** A real terminal: a shell in its own tmux, with a readable screen and keys to press. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { toCleanCommand, compileCacheEnvironment } from '../../runner/clean-command.ts'
import { requireProgram } from '../require-program.ts'

const execFileAsync = promisify(execFile)

export interface Terminal {
  /** Types the line and presses Enter. */
  typeLine(line: string): Promise<void>
  /** Types the line on a cleared screen and waits for its end. `shown` is its output. */
  run(line: string, timeoutMs?: number): Promise<{ readonly output: string; readonly exitCode: number }>
  /** Presses keys by tmux's names: `C-c`, `Up`, `Enter`. */
  pressKeys(...keys: string[]): Promise<void>
  /** The text on the screen and above it, without styles. */
  readScreen(): Promise<string>
  /** The same with its styles as escape sequences. */
  readStyledScreen(): Promise<string>
  /** Waits until the screen matches; fails with the current screen. */
  waitFor(pattern: RegExp, timeoutMs?: number): Promise<string>
}

/** A shell with `svc` on its path; undefined without tmux (the test is skipped, or fails on CI). */
export async function openTerminal(t: Test, env: Readonly<Record<string, string>>): Promise<Terminal | undefined> {
  const tmux = requireProgram(t, 'tmux')
  if (tmux === undefined) return undefined
  // A socket's path must be short, and a test's own folder is too long.
  const folder = mkdtempSync(join(tmpdir(), 'svc-'))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(fileURLToPath(new URL('../../../bin/svc.js', import.meta.url)), join(bin, 'svc'))
  const path = [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(':')
  const environment = { HOME: folder, XDG_CONFIG_HOME: folder, PATH: path, LANG: 'C.UTF-8', ...compileCacheEnvironment, ...env }
  const runTmux = async (...args: string[]) => {
    const [program, all] = toCleanCommand(tmux, ['-S', join(folder, 'tmux'), '-f', '/dev/null', ...args])
    return (await execFileAsync(program, all, { env: environment })).stdout
  }
  t.teardown(async () => {
    await runTmux('kill-server').catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  })
  await runTmux('new-session', '-d', '-x', '120', '-y', '50', 'sh')
  const readScreen = () => runTmux('capture-pane', '-p', '-J', '-S', '-500')
  let lines = 0
  const terminal: Terminal = {
    async run(line, timeoutMs) {
      const end = `end of ${(lines += 1)}`
      await terminal.typeLine(`clear; ${line}; echo "${end}: $?"`)
      const ended = new RegExp(`^([^]*?)^${end}: (\\d+)$`, 'm').exec(
        await terminal.waitFor(new RegExp(`^${end}: \\d+$`, 'm'), timeoutMs),
      )
      return { output: ended?.[1] ?? '', exitCode: Number(ended?.[2]) }
    },
    typeLine: async (line) => {
      await runTmux('send-keys', '-l', line)
      await runTmux('send-keys', 'Enter')
    },
    pressKeys: async (...keys) => void (await runTmux('send-keys', ...keys)),
    readScreen,
    readStyledScreen: () => runTmux('capture-pane', '-p', '-e', '-J', '-S', '-500'),
    async waitFor(pattern, timeoutMs = 60_000) {
      const end = Date.now() + timeoutMs
      for (;;) {
        const shown = await readScreen()
        if (pattern.test(shown)) return shown
        if (Date.now() > end) throw new Error(`never showed ${pattern}:\n${shown.trimEnd()}`)
        await sleep(50)
      }
    },
  }
  // The prompt of root's shell differs from that of other users.
  await terminal.typeLine("PS1='$ '; clear")
  await terminal.waitFor(/^\$ $/m)
  return terminal
}
