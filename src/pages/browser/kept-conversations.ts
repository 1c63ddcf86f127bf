/** Where the chat keeps an account's conversations in this browser, for the chat itself and for signing out. */
import { listStoredKeys, readStored, writeStored } from './device-storage.ts'
import { signedOutEvent } from './page.ts'

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

/** Ends what this browser shows and stores of an account whose session has ended, in this tab and the others. */
export async function endAccountInBrowser(account: string, { isRemoved }: { readonly isRemoved: boolean }): Promise<void> {
  dispatchEvent(new Event(signedOutEvent))
  announceSignOut(account, { isRemoved })
  if (isRemoved) await deleteConversations(account)
}

/** Reloads a page of another tab that has ended the account's session; the page of a member who is signed out leads to sign-in. */
export function reloadAtSignOut(account: string): void {
  const channel = new BroadcastChannel(getDatabaseName(account))
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'object' && data !== null && 'kind' in data && data.kind === 'cleared') location.reload()
  })
  // The tab that ends the session removes what is stored, and then opens another page.
  addEventListener(signedOutEvent, () => channel.close())
}

/** Tells this account's other tabs that they may show and store nothing any more. */
function announceSignOut(account: string, { isRemoved }: { readonly isRemoved: boolean }): void {
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
