/**
 * The answer, or a rejection where it does not come in time. A thread that was busy itself looks once at what has arrived meanwhile, before it
 * says that nothing has.
 */
export async function answered<T>(answer: Promise<T>, withinMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(new Error(`no answer within ${withinMs} ms`))), withinMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
