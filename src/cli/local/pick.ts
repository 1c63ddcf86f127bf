/** People type the number that a list shows, programs the id: both name a workspace, a pane, a page … */
import { CommandFailure } from '../failure.ts'
import { terminalLine } from '../terminal-text.ts'
import type { WorkbenchClient } from './client.ts'

export async function pickWorkspace(client: WorkbenchClient, word: string): Promise<string> {
  if (!isNumber(word)) return word
  const { workspaces } = await client.call('workspace.list', {})
  const workspace = workspaces.find(({ index }) => String(index) === word)
  if (!workspace) throw missing('workspace', word)
  return workspace.id
}

export async function pickPane(client: WorkbenchClient, word: string, workspaceId?: string): Promise<string> {
  if (!isNumber(word)) return word
  const { panes } = await client.call('pane.list', { workspaceId })
  const pane = panes.find((pane) => String(pane.index) === word)
  if (!pane) throw missing('pane', word)
  return pane.id
}

export async function pickPage(client: WorkbenchClient, word: string): Promise<string> {
  return isNumber(word) ? nth((await client.call('browser.list', {})).pages, word, 'page') : word
}

export async function pickNotification(client: WorkbenchClient, word: string): Promise<string> {
  return isNumber(word) ? nth((await client.call('notification.list', {})).notifications, word, 'notification') : word
}

export async function pickSsh(client: WorkbenchClient, word: string): Promise<string> {
  return isNumber(word) ? nth((await client.call('ssh.list', {})).connections, word, 'ssh connection') : word
}

function isNumber(word: string): boolean {
  return /^\d+$/.test(word)
}

function nth(items: readonly { readonly id: string }[], word: string, kind: string): string {
  const item = items[Number(word) - 1]
  if (!item) throw missing(kind, word)
  return item.id
}

function missing(kind: string, word: string): CommandFailure {
  return new CommandFailure(
    'not_found',
    { en: `There is no ${kind} ${terminalLine(word)}.`, zh: `不存在:${kind} ${terminalLine(word)}。` },
    { exit: 'notFound' },
  )
}
