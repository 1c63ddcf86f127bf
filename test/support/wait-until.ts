/** Polls for a state that no event reports. */

/** The longest wait of a test for an expected state: it continues as soon as the state is there, so only a failure takes as long. */
const defaultTimeoutMs = 300_000

/**
 * Calls `probe` every `intervalMs` until it returns a value other than false and undefined, and returns that value. Throws with the
 * description after `timeoutMs`.
 */
export function waitUntil(
  condition: () => boolean | Promise<boolean>,
  description: string,
  intervalMs?: number,
  timeoutMs?: number,
): Promise<void>
export function waitUntil<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  description: string,
  intervalMs?: number,
  timeoutMs?: number,
): Promise<T>
export async function waitUntil<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  description: string,
  intervalMs = 5,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const found = await probe()
    if (found !== undefined && found !== false) return found
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${description}`)
    await new Promise((resolve) => setTimeout(resolve, intervalMs))
  }
}
