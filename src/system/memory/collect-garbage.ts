/**
 * Collects the garbage of this thread now. V8 collects when a heap has grown, so a thread that has processed one large value keeps megabytes
 * of garbage until the next large one. It stops the thread for 10 to 50 ms: only a helper thread may call it, after its answer was sent.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// The flag makes the function visible to contexts that are created afterwards; those that exist do not get it.
setFlagsFromString('--expose-gc')

export const collectGarbage = runInNewContext('gc') as () => void
