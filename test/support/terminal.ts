/** A real terminal: a shell inside a tmux of its own, whose screen can be read and whose keys can be pressed. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { bareProgram, keptCompiled } from './bare-program.ts'
import { requireProgram } from './real-parts.ts'

const run = promisify(execFile)

export interface Terminal {
  /** Types the line and presses Enter. */
  type(line: string): Promise<void>
  /** Types the line on a cleared screen and waits for its end. `shown` is what it printed. */
  run(line: string, withinMs?: number): Promise<{ readonly shown: string; readonly exit: number }>
  /** Presses keys by tmux's names: `C-c`, `Up`, `Enter`. */
  press(...keys: string[]): Promise<void>
  /** What is on the screen and above it, without styles. */
  screen(): Promise<string>
  /** The same with its styles as escape sequences. */
  styledScreen(): Promise<string>
  /** Waits until the screen matches; fails with the screen as it was. */
  until(wanted: RegExp, withinMs?: number): Promise<string>
}

/** A shell with `svc` on its path; undefined where there is no tmux (the test has been skipped, or has failed on CI). */
export async function openTerminal(t: Test, env: Readonly<Record<string, string>>): Promise<Terminal | undefined> {
  const tmux = requireProgram(t, 'tmux')
  if (tmux === undefined) return undefined
  // A socket's path must be short, and a test's own folder is not.
  const folder = mkdtempSync(join(tmpdir(), 'svc-'))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(fileURLToPath(new URL('../../bin/svc.js', import.meta.url)), join(bin, 'svc'))
  const path = [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(':')
  const surroundings = { HOME: folder, XDG_CONFIG_HOME: folder, PATH: path, LANG: 'C.UTF-8', ...keptCompiled, ...env }
  const ask = async (...words: string[]) => {
    const [program, all] = bareProgram(tmux, ['-S', join(folder, 'tmux'), '-f', '/dev/null', ...words])
    return (await run(program, all, { env: surroundings })).stdout
  }
  t.teardown(async () => {
    await ask('kill-server').catch(() => {})
    rmSync(folder, { recursive: true, force: true })
  })
  await ask('new-session', '-d', '-x', '120', '-y', '50', 'sh')
  const screen = () => ask('capture-pane', '-p', '-J', '-S', '-500')
  let lines = 0
  const terminal: Terminal = {
    async run(line, withinMs) {
      const end = `end of ${(lines += 1)}`
      await terminal.type(`clear; ${line}; echo "${end}: $?"`)
      const ended = new RegExp(`^([^]*?)^${end}: (\\d+)$`, 'm').exec(
        await terminal.until(new RegExp(`^${end}: \\d+$`, 'm'), withinMs),
      )
      return { shown: ended?.[1] ?? '', exit: Number(ended?.[2]) }
    },
    type: async (line) => {
      await ask('send-keys', '-l', line)
      await ask('send-keys', 'Enter')
    },
    press: async (...keys) => void (await ask('send-keys', ...keys)),
    screen,
    styledScreen: () => ask('capture-pane', '-p', '-e', '-J', '-S', '-500'),
    async until(wanted, withinMs = 60_000) {
      const end = Date.now() + withinMs
      for (;;) {
        const shown = await screen()
        if (wanted.test(shown)) return shown
        if (Date.now() > end) throw new Error(`never showed ${wanted}:\n${shown.trimEnd()}`)
        await sleep(50)
      }
    },
  }
  // A shell started by root has another prompt than one started by anybody else.
  await terminal.type("PS1='$ '; clear")
  await terminal.until(/^\$ $/m)
  return terminal
}
