/** Resolves a list number (typed by users) or an id (used by programs) to a workspace, a pane, a page or another object. */
import { CommandFailure } from '../../failure.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import type { WorkbenchClient } from './workbench-client.ts'

export async function resolveWorkspaceId(client: WorkbenchClient, word: string): Promise<string> {
  if (!isNumber(word)) return word
  const { workspaces } = await client.call('workspace.list', {})
  const workspace = workspaces.find(({ index }) => String(index) === word)
  if (!workspace) throw createNotFoundFailure('workspace', word)
  return workspace.id
}

export async function resolvePaneId(client: WorkbenchClient, word: string, workspaceId?: string): Promise<string> {
  if (!isNumber(word)) return word
  const { panes } = await client.call('pane.list', { workspaceId })
  const pane = panes.find((pane) => String(pane.index) === word)
  if (!pane) throw createNotFoundFailure('pane', word)
  return pane.id
}

export async function resolvePageId(client: WorkbenchClient, word: string): Promise<string> {
  return isNumber(word) ? getIdByNumber((await client.call('browser.list', {})).pages, word, 'page') : word
}

export async function resolveNotificationId(client: WorkbenchClient, word: string): Promise<string> {
  return isNumber(word) ? getIdByNumber((await client.call('notification.list', {})).notifications, word, 'notification') : word
}

export async function resolveSshId(client: WorkbenchClient, word: string): Promise<string> {
  return isNumber(word) ? getIdByNumber((await client.call('ssh.list', {})).connections, word, 'ssh connection') : word
}

function isNumber(word: string): boolean {
  return /^\d+$/.test(word)
}

function getIdByNumber(items: readonly { readonly id: string }[], word: string, kind: string): string {
  const item = items[Number(word) - 1]
  if (!item) throw createNotFoundFailure(kind, word)
  return item.id
}

function createNotFoundFailure(kind: string, word: string): CommandFailure {
  return new CommandFailure(
    'not_found',
    { en: `There is no ${kind} ${sanitizeLine(word)}.`, zh: `不存在：${kind} ${sanitizeLine(word)}。` },
    { exit: 'notFound' },
  )
}
