/** What the tests of tasks have done in a thread. */
import { setTimeout as after } from 'node:timers/promises'
import { answer, whileWanted } from '../../src/store/task.ts'

await answer(async ({ kind }: { readonly kind: string }, goOn) => {
  if (kind === 'endless') for (const _ of whileWanted(endless(), goOn));
  if (kind === 'deaf') await after(50)
  if (kind === 'failing') throw Object.assign(new Error('no such thing'), { code: 'NOTHING' })
  return kind
})

function* endless(): Iterable<number> {
  for (let row = 0; ; row += 1) yield row
}
