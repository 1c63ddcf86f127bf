/** A pause of the process or machine counts as one step: nothing could answer meanwhile. */
const stepMs = 250

/**
 * Rejects if the promise does not settle in time. A thread that was busy itself handles the results that have arrived before it reports a
 * timeout.
 */
export async function withTimeout<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    const wait = (remainingMs: number): void => {
      const nextMs = Math.min(remainingMs, stepMs)
      timer = setTimeout(() => {
        if (remainingMs > nextMs) wait(remainingMs - nextMs)
        else setImmediate(() => reject(new Error(`no answer within ${timeoutMs} ms`)))
      }, nextMs)
    }
    wait(timeoutMs)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
