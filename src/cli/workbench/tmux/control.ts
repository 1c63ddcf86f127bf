/**
 * A tmux client in control mode: one long-lived process through which commands take a tenth of a millisecond, and which says
 * what changes in the session. It is attached with `ignore-size`, so a user's window keeps its size, and `no-output`.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { word } from './text.ts'
import { WorkbenchError } from '../protocol.ts'

export type TmuxCommand = readonly [string, ...string[]]

interface Waiting {
  /** How many of the batch's commands have not answered yet. */
  left: number
  readonly answers: string[][]
  readonly resolve: (answers: string[][]) => void
  readonly reject: (error: Error) => void
}

export class ControlClient {
  readonly #child: ChildProcess
  readonly #waiting: Waiting[] = []
  readonly #onNotice: (notice: string) => void
  #rest = ''
  #block: { readonly end: string; readonly error: string; readonly ours: boolean; readonly lines: string[] } | undefined
  #gone = false
  /** Settles when the client is attached and can be spoken to. */
  readonly ready: Promise<void>
  /** Settles when the client has ended: the session or the tmux server is gone, or `close` was called. */
  readonly ended: Promise<void>

  constructor(
    tmux: readonly string[],
    session: string,
    env: Readonly<Record<string, string>>,
    onNotice: (notice: string) => void,
  ) {
    this.#onNotice = onNotice
    const [program = 'tmux', ...base] = tmux
    const args = [...base, '-C', 'attach-session', '-t', `=${session}`, '-f', 'ignore-size,no-output']
    this.#child = spawn(program, args, { env: { ...env }, stdio: ['pipe', 'pipe', 'ignore'] })
    const attached = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    this.ready = attached.promise
    this.ended = ended.promise
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text, attached.resolve))
    // A write to a client that has just ended is answered by `ended`, not by an exception.
    this.#child.stdin?.on('error', () => undefined)
    const finish = (): void => {
      this.#gone = true
      const error = new WorkbenchError('engine_unavailable', 'tmux has ended', { hint: 'try again: it is started anew' })
      attached.reject(error)
      for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
      ended.resolve()
    }
    this.ready.catch(() => undefined)
    this.#child.on('error', finish).on('close', finish)
  }

  /** Runs the commands one after another, with nothing of others between them; an error in one leaves out the rest. */
  run(...commands: readonly TmuxCommand[]): Promise<string[][]> {
    if (this.#gone || !this.#child.stdin) return Promise.reject(new WorkbenchError('engine_unavailable', 'tmux has ended'))
    const line = commands.map(([name, ...args]) => [name, ...args.map(word)].join(' ')).join(' ; ')
    const { promise, resolve, reject } = Promise.withResolvers<string[][]>()
    this.#waiting.push({ left: commands.length, answers: [], resolve, reject })
    this.#child.stdin.write(`${line}\n`)
    return promise
  }

  close(): void {
    this.#child.stdin?.end()
    this.#child.kill()
  }

  #read(text: string, onAttached: () => void): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#take(line, onAttached)
  }

  #take(line: string, onAttached: () => void): void {
    const block = this.#block
    if (block) {
      if (line !== block.end && line !== block.error) block.lines.push(line)
      else this.#answer(block, line === block.error)
      return
    }
    if (line.startsWith('%begin ')) {
      const rest = line.slice('%begin '.length)
      // Flag 1: the block answers a command of this client; 0: tmux talks of its own accord (the attaching itself).
      this.#block = { end: `%end ${rest}`, error: `%error ${rest}`, ours: rest.endsWith(' 1'), lines: [] }
      return
    }
    if (line.startsWith('%session-changed')) onAttached()
    if (line.startsWith('%')) this.#onNotice(line)
  }

  #answer(block: { readonly ours: boolean; readonly lines: string[] }, failed: boolean): void {
    this.#block = undefined
    const waiting = block.ours ? this.#waiting[0] : undefined
    if (!waiting) return
    if (failed) {
      this.#waiting.shift()
      waiting.reject(new TmuxError(block.lines.join(' ').trim()))
      return
    }
    waiting.answers.push(block.lines)
    waiting.left -= 1
    if (waiting.left > 0) return
    this.#waiting.shift()
    waiting.resolve(waiting.answers)
  }
}

/** tmux understood and refused, e.g. "can't find pane: %7". */
export class TmuxError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TmuxError'
  }
}
