/** Where the chat keeps an account's conversations in this browser, for the chat itself and for signing out. */
import { listStoredKeys, readStored, writeStored } from './device-storage.ts'

export function getDatabaseName(account: string): string {
  return `conversations:${account}`
}

/** In local storage while the database has a conversation. */
export function getKeptKey(account: string): string {
  return `conversations-kept:${account}`
}

/** Begins the key in local storage of a message whose page was left while it was written. */
export function getLeftKeyPrefix(account: string): string {
  return `left:${account}:`
}

export function hasKeptConversations(account: string): boolean {
  return readStored('localStorage', getKeptKey(account)) !== null
}

/** Tells this account's other tabs that they may show and store nothing any more. */
export function announceSignOut(account: string, { isRemoved }: { readonly isRemoved: boolean }): void {
  const channel = new BroadcastChannel(getDatabaseName(account))
  channel.postMessage({ kind: 'cleared', isRemoved })
  channel.close()
}

/** Other tabs close the database when they are asked to; one that does not answer keeps it until it is closed. */
export function deleteConversations(account: string): Promise<void> {
  for (const key of [getKeptKey(account), ...listStoredKeys('localStorage', getLeftKeyPrefix(account))])
    writeStored('localStorage', key, null)
  return new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(getDatabaseName(account))
    for (const end of ['success', 'error', 'blocked']) request.addEventListener(end, () => resolve())
  })
}
