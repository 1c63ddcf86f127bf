/** The rule that only focus methods move the focus, held at run time. The types hold it before, and a test calls every method. */
import type { FocusIntent, TerminalEngine } from './engine.ts'
import type { FocusCause, Id, Method } from './protocol.ts'
import { isFocusMethod } from './protocol.ts'
import type { Focus } from './results.ts'

export interface FocusGuardOptions {
  readonly engine: TerminalEngine
  readonly now: () => number
  /** Told of every move, whoever made it. */
  readonly onMoved: (from: Focus, to: Focus, cause: FocusCause) => void
  /** Told when a method moved the focus that must not; the guard has already put it back. */
  readonly onViolation: (method: Method, from: Focus, to: Focus) => void
  /** Throw at a violation instead of only repairing it: for tests. */
  readonly strict?: boolean
}

/**
 * Stands around every call. A method that is no focus method finds the focus after it where it was before; a focus method gets
 * the intent without which the engine does not move. What the guard repairs is a defect of ours, so it is counted and told.
 */
export class FocusGuard {
  readonly #options: FocusGuardOptions
  #known: Focus = { workspaceId: null, paneId: null }
  /** Grows with each move by a focus method, so that a slow call beside it is not blamed. */
  #moves = 0
  #violations = 0

  constructor(options: FocusGuardOptions) {
    this.#options = options
  }

  get violations(): number {
    return this.#violations
  }

  async quietly<T>(method: Method, work: () => Promise<T>): Promise<T> {
    const before = await this.#options.engine.focused()
    const moves = this.#moves
    const startedAt = this.#options.now()
    try {
      return await work()
    } finally {
      const after = await this.#options.engine.focused()
      if (!same(before, after) && moves === this.#moves) await this.#judge(method, before, after, startedAt)
    }
  }

  async moving<T>(method: Method, requestId: Id, work: (intent: FocusIntent) => Promise<T>): Promise<T> {
    if (!isFocusMethod(method)) throw new TypeError(`${method} is not a focus method`)
    const before = await this.#options.engine.focused()
    this.#moves += 1
    try {
      return await work({ method, requestId } as FocusIntent)
    } finally {
      this.#moves += 1
      this.#moved(before, await this.#options.engine.focused(), { kind: 'method', method, requestId })
    }
  }

  /** The engine says the focus may have moved: if no method of ours did it, the user did. */
  async observe(): Promise<void> {
    const moves = this.#moves
    const now = await this.#options.engine.focused()
    if (moves === this.#moves) this.#moved(this.#known, now, { kind: 'user' })
  }

  async #judge(method: Method, before: Focus, after: Focus, startedAt: number): Promise<void> {
    if (!(await this.#exists(before)) || (await this.#userActed(startedAt))) {
      this.#moved(before, after, { kind: 'user' })
      return
    }
    this.#violations += 1
    const intent = { method: 'pane.focus', requestId: null } as unknown as FocusIntent
    if (before.paneId !== null) await this.#options.engine.focusPane(intent, before.paneId)
    this.#options.onViolation(method, before, after)
    if (this.#options.strict) throw new Error(`${method} moved the focus from ${before.paneId} to ${after.paneId}`)
  }

  /** Where the focused pane is gone (its program ended, or it was closed with force) there is nothing to go back to. */
  async #exists(focus: Focus): Promise<boolean> {
    if (focus.paneId === null) return false
    const workspaces = await this.#options.engine.list()
    return workspaces.some((workspace) => workspace.panes.some((pane) => pane.id === focus.paneId))
  }

  /** A key pressed since the call began explains the move. The engine tells whole seconds, so doubt goes to the user. */
  async #userActed(startedAt: number): Promise<boolean> {
    const clients = await this.#options.engine.clients()
    return clients.some((client) => client.activeAt >= Math.floor(startedAt / 1_000))
  }

  #moved(from: Focus, to: Focus, cause: FocusCause): void {
    this.#known = to
    if (!same(from, to)) this.#options.onMoved(from, to, cause)
  }
}

function same(a: Focus, b: Focus): boolean {
  return a.workspaceId === b.workspaceId && a.paneId === b.paneId
}
