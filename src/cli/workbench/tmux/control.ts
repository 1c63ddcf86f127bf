/**
 * A tmux client in control mode: one long-lived process that runs a command in a tenth of a millisecond and reports
 * changes of the session. It is attached with `ignore-size`, so a user's window keeps its size, and `no-output`.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { quoteWord } from './quoting.ts'
import { WorkbenchError } from '../protocol/protocol.ts'

export type TmuxCommand = readonly [string, ...string[]]

interface PendingBatch {
  /** Number of the batch's commands that have not been answered. */
  remaining: number
  readonly outputs: string[][]
  readonly resolve: (answers: string[][]) => void
  readonly reject: (error: Error) => void
}

export class ControlClient {
  readonly #child: ChildProcess
  readonly #pendingBatches: PendingBatch[] = []
  readonly #onNotice: (notice: string) => void
  #partialLine = ''
  #block: { readonly end: string; readonly error: string; readonly ours: boolean; readonly lines: string[] } | undefined
  #hasEnded = false
  /** Settles when the client is attached and accepts commands. */
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
    const attachment = Promise.withResolvers<void>()
    const ending = Promise.withResolvers<void>()
    this.ready = attachment.promise
    this.ended = ending.promise
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text, attachment.resolve))
    // A write to a client that has just ended settles `ended` instead of throwing.
    this.#child.stdin?.on('error', () => undefined)
    const finish = (): void => {
      this.#hasEnded = true
      const error = new WorkbenchError('engine_unavailable', 'tmux has ended', { hint: 'try again: it is started anew' })
      attachment.reject(error)
      for (const pendingBatch of this.#pendingBatches.splice(0)) pendingBatch.reject(error)
      ending.resolve()
    }
    this.ready.catch(() => undefined)
    this.#child.on('error', finish).on('close', finish)
  }

  /** Runs the commands in sequence without others between them; an error skips the rest. */
  run(...commands: readonly TmuxCommand[]): Promise<string[][]> {
    if (this.#hasEnded || !this.#child.stdin) return Promise.reject(new WorkbenchError('engine_unavailable', 'tmux has ended'))
    const line = commands.map(([name, ...args]) => [name, ...args.map(quoteWord)].join(' ')).join(' ; ')
    const { promise, resolve, reject } = Promise.withResolvers<string[][]>()
    this.#pendingBatches.push({ remaining: commands.length, outputs: [], resolve, reject })
    this.#child.stdin.write(`${line}\n`)
    return promise
  }

  close(): void {
    this.#child.stdin?.end()
    this.#child.kill()
  }

  #read(text: string, onAttached: () => void): void {
    const lines = (this.#partialLine + text).split('\n')
    this.#partialLine = lines.pop() ?? ''
    for (const line of lines) this.#receiveLine(line, onAttached)
  }

  #receiveLine(line: string, onAttached: () => void): void {
    const block = this.#block
    if (block) {
      if (line !== block.end && line !== block.error) block.lines.push(line)
      else this.#completeBlock(block, line === block.error)
      return
    }
    if (line.startsWith('%begin ')) {
      const rest = line.slice('%begin '.length)
      // Flag 1: the block answers a command of this client; 0: tmux sent it unasked (while attaching).
      this.#block = { end: `%end ${rest}`, error: `%error ${rest}`, ours: rest.endsWith(' 1'), lines: [] }
      return
    }
    if (line.startsWith('%session-changed')) onAttached()
    if (line.startsWith('%')) this.#onNotice(line)
  }

  #completeBlock(block: { readonly ours: boolean; readonly lines: string[] }, failed: boolean): void {
    this.#block = undefined
    const pendingBatch = block.ours ? this.#pendingBatches[0] : undefined
    if (!pendingBatch) return
    if (failed) {
      this.#pendingBatches.shift()
      pendingBatch.reject(new TmuxError(block.lines.join(' ').trim()))
      return
    }
    pendingBatch.outputs.push(block.lines)
    pendingBatch.remaining -= 1
    if (pendingBatch.remaining > 0) return
    this.#pendingBatches.shift()
    pendingBatch.resolve(pendingBatch.outputs)
  }
}

/** tmux rejected a command, e.g. "can't find pane: %7". */
export class TmuxError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'TmuxError'
  }
}
