/** The results of each method, beside the parameters in `params.ts`. Types only: the client trusts the host, which runs as the same user. */

/** A client ignores unknown fields; new ones do not change the version. */
export interface Results {
  'system.ping': { readonly pong: true }
  'system.hello': Hello
  'system.identify': { readonly focused: Focus; readonly caller: Focus | null }
  'system.capabilities': {
    readonly protocol: number
    readonly capabilities: readonly (keyof Results)[]
    readonly focus: readonly (keyof Results)[]
  }
  'system.tree': {
    readonly workspaces: readonly (Workspace & { readonly panes: readonly Pane[]; readonly pages: readonly BrowserPage[] })[]
  }
  'system.doctor': { readonly checks: readonly Check[]; readonly focusViolations: number }
  'workspace.list': { readonly workspaces: readonly Workspace[] }
  'workspace.create': { readonly workspace: Workspace; readonly pane: Pane }
  'workspace.rename': { readonly workspace: Workspace }
  'workspace.close': Done
  'workspace.show': { readonly workspace: Workspace; readonly panes: readonly Pane[]; readonly pages: readonly BrowserPage[] }
  'workspace.focus': { readonly focused: Focus }
  'workspace.next': { readonly focused: Focus }
  'workspace.previous': { readonly focused: Focus }
  'workspace.last': { readonly focused: Focus }
  'pane.list': { readonly panes: readonly Pane[] }
  'pane.split': { readonly pane: Pane }
  'pane.close': Done
  'pane.resize': { readonly pane: Pane }
  'pane.send': Done
  'pane.key': Done
  'pane.read': { readonly pane: Pane; readonly text: string }
  'pane.focus': { readonly focused: Focus }
  'pane.last': { readonly focused: Focus }
  'notification.create': { readonly id: string; readonly delivered: readonly Delivery[] }
  'notification.list': { readonly notifications: readonly Notification[] }
  'notification.read': { readonly notification: Notification }
  'notification.dismiss': Done
  'notification.clear': { readonly cleared: number }
  'notification.open': { readonly notification: Notification; readonly focused: Focus }
  'notification.nextUnread': { readonly notification: Notification; readonly focused: Focus }
  'browser.open': { readonly page: BrowserPage }
  'browser.close': Done
  'browser.list': { readonly pages: readonly BrowserPage[] }
  'browser.goto': Navigation
  'browser.back': Navigation
  'browser.forward': Navigation
  'browser.reload': Navigation
  'browser.snapshot': {
    readonly page: BrowserPage
    readonly snapshotId: string
    readonly text: string
    readonly truncated: boolean
  }
  'browser.fill': { readonly page: BrowserPage }
  'browser.click': { readonly page: BrowserPage }
  'browser.type': { readonly page: BrowserPage }
  'browser.press': { readonly page: BrowserPage }
  'browser.select': { readonly page: BrowserPage; readonly selected: readonly string[] }
  'browser.check': { readonly page: BrowserPage; readonly checked: boolean }
  'browser.wait': { readonly page: BrowserPage }
  'browser.get': { readonly page: BrowserPage; readonly value: string | null }
  'browser.eval': { readonly page: BrowserPage; readonly value: unknown }
  'browser.screenshot': { readonly page: BrowserPage; readonly path: string; readonly bytes: number }
  'browser.focus': { readonly page: BrowserPage; readonly focused: Focus }
  'ssh.connect': { readonly ssh: Ssh; readonly workspace: Workspace; readonly pane: Pane }
  'ssh.list': { readonly connections: readonly Ssh[] }
  'ssh.status': { readonly ssh: Ssh }
  'ssh.disconnect': { readonly ssh: Ssh }
  'ssh.reconnect': { readonly ssh: Ssh }
  'files.list': { readonly path: string; readonly files: readonly RemoteFile[] }
  'files.stat': { readonly file: RemoteFile }
  'files.read': { readonly data: string; readonly bytes: number; readonly end: boolean }
  'files.write': { readonly bytes: number }
  'files.mkdir': Done
  'files.rename': Done
  'files.remove': Done
  'files.realpath': { readonly path: string }
  'files.open': { readonly pane: Pane }
  'events.subscribe': {
    readonly subscriptionId: string
    readonly bootId: string
    readonly seq: number
    /** True when events after `after` are no longer stored, so that some are missing. */
    readonly gap: boolean
  }
  'events.unsubscribe': Done
  'app.shutdown': Done
}

interface Done {
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
  readonly capabilities: readonly (keyof Results)[]
}

export interface Navigation {
  readonly page: BrowserPage
  /** The HTTP status of the last answer; null for about:blank and for steps within the page. */
  readonly status: number | null
  readonly finalUrl: string
}
