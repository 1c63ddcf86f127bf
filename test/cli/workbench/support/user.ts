/** A user at the terminal, who notices whatever takes the focus away. */
import type { ChildProcess } from 'node:child_process'
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { tmuxArguments } from '../../../../src/cli/workbench/tmux/session.ts'
import type { TestBench } from './bench.ts'
import { readText, until } from './bench.ts'

const run = promisify(execFile)

/** What a user at the terminal would notice, noted between two moments. */
export interface Noticed {
  /** What tmux said to a second client about windows, panes, sessions and clients coming to the front or leaving. */
  readonly notices: readonly string[]
  /** What the program in the focused pane received meanwhile. */
  readonly received: string
  /** The same, with what has come since. */
  readonly receivedByNow: () => string
  readonly before: string
  readonly after: string
}

export interface User {
  /** Types `first`, does `work`, types `last`; answers what was noticed in between. */
  during(first: string, work: () => Promise<unknown>, last: string): Promise<Noticed>
  type(text: string): void
  tmux(...args: readonly string[]): Promise<string>
  /** Starts the recording program in the pane that has the keys. */
  record(): Promise<void>
  /** Which pane has the keys, zoom, history view and sizes, as tmux tells it. */
  state(): Promise<string>
}

const frontNotice =
  /^%(?:session-window-changed|window-pane-changed|client-session-changed|session-changed|client-detached|pane-mode-changed|sessions-changed|exit)\b/

/** Programs that only listen come and go without anybody seeing them; a user's client has the name of its terminal. */
const unseenNotice = /^%client-(?:detached|session-changed) client-\d+/

/**
 * A real user: a tmux client in a pseudo-terminal, a program in the focused pane that records every byte it gets and asks to be
 * told of focus changes, and a second client that listens to what tmux announces.
 */
export async function attachUser(
  t: Test,
  bench: { readonly dir: string; readonly settings: Pick<TestBench['settings'], 'env' | 'runDir'> },
): Promise<User> {
  const { env, runDir } = bench.settings
  const [program = 'tmux', ...base] = tmuxArguments(runDir)
  const tmux = async (...args: readonly string[]): Promise<string> =>
    (await run(program, [...base, ...args], { env })).stdout.trimEnd()

  // What comes as fast as a program types is a paste to tmux, and then no key of its own.
  await tmux('set-option', '-g', 'assume-paste-time', '0')
  const line = `stty rows 30 cols 100; exec ${[program, ...base].join(' ')} attach-session -t =svc`
  const terminal = spawn('script', ['-qfc', line, '/dev/null'], {
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  endWith(t, terminal)
  const listener = listen(t, [program, ...base], env)
  await until('the user is attached', async () =>
    (await tmux('list-clients', '-F', '#{client_control_mode}')).split('\n').includes('0'),
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
      await until(
        'the recorder listens',
        async () => (await tmux('display-message', '-p', '-t', '=svc:', '#{pane_current_command}')) === 'cat',
      )
      type('go')
      await until('the recorder hears', () => readText(record).includes('go'))
    },
    during: async (first, work, last) => {
      const before = await state()
      await listener.settle()
      const start = readText(record).length
      const announced = listener.notices.length
      type(first)
      if (first !== '') await until(`the key ${first} arrives`, () => readText(record).slice(start).includes(first))
      await work()
      await listener.settle()
      type(last)
      if (last !== '')
        await until(`the key ${last} arrives`, () => readText(record).slice(start).includes(last), 3_000).catch(() => undefined)
      await listener.settle()
      return {
        notices: listener.notices.slice(announced).filter((notice) => frontNotice.test(notice) && !unseenNotice.test(notice)),
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
  endWith(t, client)
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
    // tmux answers in order: when this answer is here, everything announced before it is here too.
    settle: async () => {
      asked += 1
      const word = `settled-${asked}`
      client.stdin?.write(`display-message -p ${word}\n`)
      await until(
        'tmux answers the listener',
        () => notices.includes(word) || notices.some((notice) => notice.startsWith('%exit')),
      )
    },
  }
}

/** Ends a program this test started, and waits until it is gone. */
export function endWith(t: Test, child: ChildProcess): void {
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await gone
  })
}
