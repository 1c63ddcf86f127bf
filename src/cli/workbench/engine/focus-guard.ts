/** Enforces at run time that only focus methods move the focus. The types enforce it too, and a test calls every method. */
import type { FocusIntent, TerminalEngine } from './terminal-engine.ts'
import type { Id } from '../protocol/protocol.ts'
import type { FocusCause, Method } from '../protocol/methods.ts'
import { isFocusMethod } from '../protocol/methods.ts'
import type { Focus } from '../protocol/results.ts'

interface FocusGuardOptions {
  readonly engine: TerminalEngine
  readonly now: () => number
  /** Called for every move, of the user and of a method. */
  readonly onMoved: (from: Focus, to: Focus, cause: FocusCause) => void
  /** Called after the guard has reverted a move by a method that must not move the focus. */
  readonly onViolation: (method: Method, from: Focus, to: Focus) => void
  /** Throw at a violation instead of only reverting it: for tests. */
  readonly strict?: boolean
}

/**
 * Wraps every call. After a method that is not a focus method the focus is where it was before; a focus method receives
 * the intent without which the engine does not move. A reverted move is a bug of the workbench, so it is counted and reported.
 */
export class FocusGuard {
  readonly #options: FocusGuardOptions
  #lastFocus: Focus = { workspaceId: null, paneId: null }
  /** Increases with each move by a focus method, so that a slow call beside it is not blamed. */
  #moveCount = 0
  #violationCount = 0

  constructor(options: FocusGuardOptions) {
    this.#options = options
  }

  get violations(): number {
    return this.#violationCount
  }

  async runQuietMethod<T>(method: Method, work: () => Promise<T>): Promise<T> {
    const before = await this.#options.engine.getFocus()
    const moves = this.#moveCount
    const startedAt = this.#options.now()
    try {
      return await work()
    } finally {
      const after = await this.#options.engine.getFocus()
      if (!isSameFocus(before, after) && moves === this.#moveCount) await this.#repairViolation(method, before, after, startedAt)
    }
  }

  async runFocusMethod<T>(method: Method, requestId: Id, work: (intent: FocusIntent) => Promise<T>): Promise<T> {
    if (!isFocusMethod(method)) throw new TypeError(`${method} is not a focus method`)
    const before = await this.#options.engine.getFocus()
    this.#moveCount += 1
    try {
      return await work({ method, requestId } as FocusIntent)
    } finally {
      this.#moveCount += 1
      this.#recordMove(before, await this.#options.engine.getFocus(), { kind: 'method', method, requestId })
    }
  }

  /** The engine reports that the focus may have moved: without a running focus method, the user moved it. */
  async observeFocus(): Promise<void> {
    const moves = this.#moveCount
    const now = await this.#options.engine.getFocus()
    if (moves === this.#moveCount) this.#recordMove(this.#lastFocus, now, { kind: 'user' })
  }

  async #repairViolation(method: Method, before: Focus, after: Focus, startedAt: number): Promise<void> {
    if (!(await this.#exists(before)) || (await this.#hasUserActed(startedAt))) {
      this.#recordMove(before, after, { kind: 'user' })
      return
    }
    this.#violationCount += 1
    const intent = { method: 'pane.focus', requestId: null } as unknown as FocusIntent
    if (before.paneId !== null) await this.#options.engine.focusPane(intent, before.paneId)
    this.#options.onViolation(method, before, after)
    if (this.#options.strict) throw new Error(`${method} moved the focus from ${before.paneId} to ${after.paneId}`)
  }

  /** If the focused pane is gone (its program ended, or it was closed with force) there is no focus to restore. */
  async #exists(focus: Focus): Promise<boolean> {
    if (focus.paneId === null) return false
    const workspaces = await this.#options.engine.listWorkspaces()
    return workspaces.some((workspace) => workspace.panes.some((pane) => pane.id === focus.paneId))
  }

  /** A key press since the call began explains the move. The engine reports whole seconds, so an unclear case counts as the user's. */
  async #hasUserActed(startedAt: number): Promise<boolean> {
    const clients = await this.#options.engine.listClients()
    return clients.some((client) => client.activeAt >= Math.floor(startedAt / 1_000))
  }

  #recordMove(from: Focus, to: Focus, cause: FocusCause): void {
    this.#lastFocus = to
    if (!isSameFocus(from, to)) this.#options.onMoved(from, to, cause)
  }
}

function isSameFocus(a: Focus, b: Focus): boolean {
  return a.workspaceId === b.workspaceId && a.paneId === b.paneId
}
