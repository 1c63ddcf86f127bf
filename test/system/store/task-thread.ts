/** The thread of the tests of `worker-task.ts`. */
import { setTimeout as after } from 'node:timers/promises'
import { serveTask, cancellable } from '../../../src/store/worker-task.ts'

await serveTask(async ({ kind }: { readonly kind: string }, goOn) => {
  if (kind === 'endless') for (const _ of cancellable(endless(), goOn));
  if (kind === 'deaf') await after(50)
  if (kind === 'failing') throw Object.assign(new Error('no such thing'), { code: 'NOTHING' })
  return kind
})

function* endless(): Iterable<number> {
  for (let row = 0; ; row += 1) yield row
}
