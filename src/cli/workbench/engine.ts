/** The port to what shows workspaces and panes: tmux, the memory of a test, or nothing that says what to install. */
import type { Id, Method } from './protocol.ts'
import type { Focus, Pane } from './results.ts'

/**
 * Every call that moves the focus asks for a `FocusIntent`, which only the focus guard can make and only handlers of focus
 * methods receive: code that must not steal the focus has nothing to pass.
 */
export interface TerminalEngine {
  /** For people: "tmux 3.3a". */
  readonly name: string
  /** The command line that shows everything in a terminal, where there is such a thing. */
  readonly attach: readonly string[] | null
  list(): Promise<readonly WorkspaceState[]>
  createWorkspace(wish: NewWorkspace): Promise<Focus>
  renameWorkspace(id: string, title: string): Promise<void>
  closeWorkspace(id: string): Promise<void>
  split(wish: NewPane): Promise<string>
  closePane(id: string): Promise<void>
  /** Ends the program of a pane as hanging up does; the pane may stay to show its last words. */
  stop(id: string): Promise<void>
  /** Starts the ended program of a pane again, in its place. */
  respawn(id: string, argv: readonly string[]): Promise<void>
  resizePane(id: string, size: { readonly cols?: number; readonly rows?: number }): Promise<void>
  /** Types text; line ends become Enter. */
  send(id: string, text: string): Promise<void>
  /** Presses one named key, e.g. `Enter`, `C-c`, `Up`. */
  key(id: string, name: string): Promise<void>
  /** The visible screen and at most `lines` lines of history above it, without colours. */
  capture(id: string, lines: number): Promise<string>
  /** The workspace's entry in the status line: unread notifications and a short note. */
  mark(id: string, entry: { readonly unread: number; readonly note: string }): Promise<void>
  /** Keeps a small text with a workspace, so that it outlives the host. */
  keep(id: string, text: string): Promise<void>
  focused(): Promise<Focus>
  /** The terminals people are looking through. */
  clients(): Promise<readonly EngineClient[]>
  onChange(listener: (change: EngineChange) => void): void
  /** Lets go of the engine; with `endSessions` everything in it ends too. */
  close(endSessions: boolean): Promise<void>

  focusWorkspace(intent: FocusIntent, id: string): Promise<void>
  stepWorkspace(intent: FocusIntent, step: 'next' | 'previous' | 'last'): Promise<void>
  focusPane(intent: FocusIntent, id: string): Promise<void>
  focusDirection(intent: FocusIntent, direction: Direction): Promise<void>
  lastPane(intent: FocusIntent): Promise<void>
}

export type Direction = 'right' | 'left' | 'up' | 'down'

declare const proof: unique symbol

/** The right to move the focus, given for one call of one focus method. */
export interface FocusIntent {
  readonly method: Method
  readonly requestId: Id
  readonly [proof]: true
}

/** A workspace as the engine knows it; the host adds what it knows itself (unread notifications, ssh). */
export interface WorkspaceState {
  readonly id: string
  readonly index: number
  readonly title: string
  readonly focused: boolean
  readonly panes: readonly Pane[]
  /** What `keep` stored. */
  readonly kept: string
  readonly zoomed: boolean
}

export interface NewWorkspace {
  readonly title: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** A program in place of the user's shell; its pane stays when it ends, to show its last words. */
  readonly argv?: readonly string[]
  readonly kept?: string
}

export interface NewPane {
  readonly paneId: string
  readonly direction: Direction
  /** Percent of the split pane. */
  readonly size?: number
  readonly cwd?: string
  readonly argv?: readonly string[]
}

export interface EngineClient {
  readonly tty: string
  readonly term: string
  /** Seconds since 1970 of the last key or resize. */
  readonly activeAt: number
}

export type EngineChange = 'focus' | 'layout' | 'gone'
