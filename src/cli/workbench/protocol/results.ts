/** What the methods answer. */

export interface Done {
  readonly ok: true
}

/** The displayed workspace and the pane that receives the keys. */
export interface Focus {
  readonly workspaceId: string | null
  readonly paneId: string | null
}

export interface Workspace {
  readonly id: string
  /** The number in the status bar, fixed for the workspace's lifetime; the command line accepts it instead of the id. */
  readonly index: number
  readonly title: string
  readonly focused: boolean
  readonly paneCount: number
  /** Number of its unread notifications. */
  readonly unread: number
  readonly cwd: string
  readonly kind: 'local' | 'ssh'
}

export interface Pane {
  readonly id: string
  readonly workspaceId: string
  readonly index: number
  readonly title: string
  readonly command: string
  readonly cwd: string
  readonly cols: number
  readonly rows: number
  readonly focused: boolean
  /** Its program has ended and the pane stays to show why. */
  readonly dead: boolean
  /** That program's exit code. */
  readonly exit: number | null
}

export interface Notification {
  readonly id: string
  readonly title: string
  readonly body: string
  readonly workspaceId: string | null
  readonly paneId: string | null
  /** Milliseconds since 1970. */
  readonly at: number
  readonly read: boolean
}

/** One channel of a notification and the reason if it failed. */
export interface Delivery {
  readonly sink: 'record' | 'terminal' | 'desktop'
  readonly ok: boolean
  readonly reason?: string
}

export interface BrowserPage {
  readonly id: string
  readonly workspaceId: string
  readonly url: string
  readonly title: string
}

export interface Ssh {
  readonly id: string
  readonly destination: string
  readonly state: 'connecting' | 'connected' | 'failed' | 'closed'
  readonly workspaceId: string
  readonly paneId: string
  /** Present once connected: the remote directory in which the file explorer starts. */
  readonly explorer: { readonly offered: true; readonly root: string } | null
  /** ssh's own exit code, once it has ended. */
  readonly exit: number | null
  /** The last lines that ssh wrote, when it failed. */
  readonly reason: string | null
}

/** `nameBase64` is present only if the remote name is not UTF-8; `name` is then for display only. */
export interface RemoteFile {
  readonly name: string
  readonly nameBase64?: string
  readonly type: 'file' | 'directory' | 'link' | 'other'
  readonly size: number
  readonly mode: number
  /** Seconds since 1970. */
  readonly modified: number
}

export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly found: string | null
  /** The function that does not work without it. */
  readonly needed: string
  /** The command that installs it, when it is missing. */
  readonly hint: string | null
}

export interface Hello {
  readonly protocol: number
  readonly app: { readonly name: string; readonly version: string; readonly pid: number; readonly bootId: string }
  readonly engine: {
    readonly terminal: string | null
    readonly browser: string | null
    /** The command line that displays the workbench in a terminal. */
    readonly attach: readonly string[] | null
  }
  /** The names of the methods. */
  readonly capabilities: readonly string[]
}

export interface Navigation {
  readonly page: BrowserPage
  /** The HTTP status of the last answer; null for about:blank and for steps within the page. */
  readonly status: number | null
  readonly finalUrl: string
}
