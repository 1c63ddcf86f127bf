/** A user at the terminal who detects every change of the focus. */
import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { getTmuxCommand } from '../../../../../src/cli/workbench/tmux/session.ts'
import type { TestWorkbench } from './test-workbench.ts'
import { readText } from './test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'

const run = promisify(execFile)

/** The changes that a user at the terminal would notice, recorded between two moments. */
export interface FocusRecord {
  /** Messages of tmux to a second client about windows, panes, sessions and clients that gain or lose the focus. */
  readonly notices: readonly string[]
  /** The bytes that the program in the focused pane received meanwhile. */
  readonly received: string
  /** The same, with later changes. */
  readonly receivedByNow: () => string
  readonly before: string
  readonly after: string
}

export interface User {
  /** Types `first`, runs `work`, types `last`; returns the changes in between. */
  observeDuring(first: string, work: () => Promise<unknown>, last: string): Promise<FocusRecord>
  type(text: string): void
  tmux(...args: readonly string[]): Promise<string>
  /** Starts the recording program in the focused pane. */
  record(): Promise<void>
  /** The focused pane, zoom, history view and sizes, as tmux reports them. */
  state(): Promise<string>
}

const frontNotice =
  /^%(?:session-window-changed|window-pane-changed|client-session-changed|session-changed|client-detached|pane-mode-changed|sessions-changed|exit)\b/

/** Clients that only listen come and go invisibly; a user's client has the name of its terminal. */
const backgroundNotice = /^%client-(?:detached|session-changed) client-\d+/

/**
 * A real user: a tmux client in a pseudo-terminal, a program in the focused pane that records every byte it receives and requests
 * focus events, and a second client that records tmux's notifications.
 */
export async function attachUser(
  t: Test,
  bench: { readonly dir: string; readonly settings: Pick<TestWorkbench['settings'], 'env' | 'runDir'> },
): Promise<User> {
  const { env, runDir } = bench.settings
  const [program = 'tmux', ...base] = getTmuxCommand(runDir)
  const tmux = async (...args: readonly string[]): Promise<string> =>
    (await run(program, [...base, ...args], { env })).stdout.trimEnd()

  // tmux treats keys that arrive at program speed as a paste, not as keys.
  await tmux('set-option', '-g', 'assume-paste-time', '0')
  const line = `stty rows 30 cols 100; exec ${[program, ...base].join(' ')} attach-session -t =svc`
  const terminal = spawn('script', ['-qfc', line, '/dev/null'], {
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  killAtEnd(t, terminal)
  const listener = listen(t, [program, ...base], env)
  await waitUntil(
    async () => (await tmux('list-clients', '-F', '#{client_control_mode}')).split('\n').includes('0'),
    'the user is attached',
  )
  await listener.settle()

  const record = join(bench.dir, 'record')
  const state = async (): Promise<string> => {
    const clients = await tmux(
      'list-clients',
      '-F',
      '#{client_control_mode} #{client_session} #{client_width}x#{client_height} #{window_id} #{window_width}x#{window_height} #{pane_id} zoom=#{window_zoomed_flag} mode=#{pane_in_mode} #{scroll_position}',
    )
    return clients
      .split('\n')
      .filter((client) => client.startsWith('0 '))
      .map((client) => client.trim())
      .join('\n')
  }
  const type = (text: string): void => {
    terminal.stdin?.write(text)
  }
  return {
    tmux,
    type,
    state,
    record: async () => {
      type(`stty raw -echo; printf '\\033[?1004h'; exec cat > ${record}\r`)
      await waitUntil(
        async () => (await tmux('display-message', '-p', '-t', '=svc:', '#{pane_current_command}')) === 'cat',
        'the recorder listens',
      )
      type('go')
      await waitUntil(() => readText(record).includes('go'), 'the recorder hears')
    },
    observeDuring: async (first, work, last) => {
      const before = await state()
      await listener.settle()
      const start = readText(record).length
      const announced = listener.notices.length
      type(first)
      if (first !== '') await waitUntil(() => readText(record).slice(start).includes(first), `the key ${first} arrives`)
      await work()
      await listener.settle()
      type(last)
      if (last !== '')
        await waitUntil(() => readText(record).slice(start).includes(last), `the key ${last} arrives`, 5, 3_000).catch(
          () => undefined,
        )
      await listener.settle()
      return {
        notices: listener.notices.slice(announced).filter((notice) => frontNotice.test(notice) && !backgroundNotice.test(notice)),
        received: readText(record).slice(start),
        receivedByNow: () => readText(record).slice(start),
        before,
        after: await state(),
      }
    },
  }
}

function listen(t: Test, tmux: readonly string[], env: NodeJS.ProcessEnv): { notices: string[]; settle: () => Promise<void> } {
  const [program = 'tmux', ...base] = tmux
  const client = spawn(program, [...base, '-C', 'attach-session', '-t', '=svc', '-f', 'ignore-size,no-output'], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  killAtEnd(t, client)
  const notices: string[] = []
  let asked = 0
  let rest = ''
  client.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    notices.push(...lines)
  })
  client.stdin?.on('error', () => undefined)
  return {
    notices,
    // tmux answers in order: everything announced before this answer has arrived with it.
    settle: async () => {
      asked += 1
      const word = `settled-${asked}`
      client.stdin?.write(`display-message -p ${word}\n`)
      await waitUntil(
        () => notices.includes(word) || notices.some((notice) => notice.startsWith('%exit')),
        'tmux answers the listener',
      )
    },
  }
}

/** Ends a program this test started, and waits until it is gone. */
export function killAtEnd(t: Test, child: ChildProcess): void {
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await gone
  })
}
