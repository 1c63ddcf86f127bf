/** Small texts kept by the browser. Where storage is forbidden or full, nothing is kept and nothing fails. */

export type StorageArea = 'localStorage' | 'sessionStorage'

export function readStored(area: StorageArea, key: string): string | null {
  try {
    return window[area].getItem(key)
  } catch {
    return null
  }
}

/** Null removes it. Returns whether it is stored now. */
export function writeStored(area: StorageArea, key: string, value: string | null): boolean {
  try {
    if (value === null) window[area].removeItem(key)
    else window[area].setItem(key, value)
    return true
  } catch {
    return false
  }
}

export function listStoredKeys(area: StorageArea, prefix: string): string[] {
  try {
    return Object.keys(window[area]).filter((key) => key.startsWith(prefix))
  } catch {
    return []
  }
}
