/** The port to the terminal engine: tmux, the memory of a test, or none with a hint what to install. */
import type { Id } from '../protocol/protocol.ts'
import type { Method } from '../protocol/methods.ts'
import type { Focus, Pane } from '../protocol/results.ts'

/**
 * Every call that moves the focus requires a `FocusIntent`, which only the focus guard can create and only handlers of focus
 * methods receive: other code has nothing to pass.
 */
export interface TerminalEngine {
  /** Name and version for display: "tmux 3.3a". */
  readonly name: string
  /** The command line that displays everything in a terminal, if there is one. */
  readonly attachCommand: readonly string[] | null
  listWorkspaces(): Promise<readonly WorkspaceState[]>
  createWorkspace(wish: NewWorkspace): Promise<Focus>
  renameWorkspace(id: string, title: string): Promise<void>
  closeWorkspace(id: string): Promise<void>
  splitPane(wish: NewPane): Promise<string>
  closePane(id: string): Promise<void>
  /** Ends the program of a pane with a hang-up signal; the pane may stay to show its last output. */
  stopPane(id: string): Promise<void>
  /** Restarts the ended program of a pane in the same pane. */
  respawnPane(id: string, argv: readonly string[]): Promise<void>
  resizePane(id: string, size: { readonly cols?: number; readonly rows?: number }): Promise<void>
  /** Types text; line ends become Enter. */
  sendText(id: string, text: string): Promise<void>
  /** Presses one named key, e.g. `Enter`, `C-c`, `Up`. */
  sendKey(id: string, name: string): Promise<void>
  /** The visible screen and at most `lines` lines of history above it, without colours. */
  capturePane(id: string, lines: number): Promise<string>
  /** Sets the workspace's entry in the status line: unread notifications and a short note. */
  setStatusEntry(id: string, entry: { readonly unread: number; readonly note: string }): Promise<void>
  /** Shows one line in the status line of every workspace; empty for none. */
  setNotice(text: string): Promise<void>
  /** Stores a small text with a workspace, so that it outlives the host. */
  saveMetadata(id: string, text: string): Promise<void>
  getFocus(): Promise<Focus>
  /** The terminals that display the workbench. */
  listClients(): Promise<readonly EngineClient[]>
  onChange(listener: (change: EngineChange) => void): void
  /** Disconnects from the engine; with `endSessions` everything in it ends too. */
  close(endSessions: boolean): Promise<void>

  focusWorkspace(intent: FocusIntent, id: string): Promise<void>
  stepWorkspace(intent: FocusIntent, step: 'next' | 'previous' | 'last'): Promise<void>
  focusPane(intent: FocusIntent, id: string): Promise<void>
  focusDirection(intent: FocusIntent, direction: Direction): Promise<void>
  focusLastPane(intent: FocusIntent): Promise<void>
}

export type Direction = 'right' | 'left' | 'up' | 'down'

declare const intentBrand: unique symbol

/** The right to move the focus, valid for one call of one focus method. */
export interface FocusIntent {
  readonly method: Method
  readonly requestId: Id
  readonly [intentBrand]: true
}

/** A workspace as the engine reports it; the host adds its own data (unread notifications, ssh). */
export interface WorkspaceState {
  readonly id: string
  readonly index: number
  readonly title: string
  readonly focused: boolean
  readonly panes: readonly Pane[]
  /** The text that `keep` stored. */
  readonly metadata: string
  readonly zoomed: boolean
}

export interface NewWorkspace {
  readonly title: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** A program in place of the user's shell; its pane stays when it ends, to show its last output. */
  readonly argv?: readonly string[]
  readonly metadata?: string
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
