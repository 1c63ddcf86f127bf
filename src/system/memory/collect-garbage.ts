/**
 * Collects the garbage of this thread now. V8 collects when a heap has grown, so a thread that has processed one large value keeps megabytes
 * of garbage until the next large one. It stops the thread for 10 to 40 ms: only a helper thread may call it, after its answer was sent.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

export function collectGarbage(): void {
  collect ??= findCollector()
  collect()
}

/** The flag makes a function visible to contexts that are created afterwards; contexts of programs that exist do not have it. */
function findCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
