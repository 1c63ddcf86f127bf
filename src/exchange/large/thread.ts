/** The thread that works large requests out: one at a time, as they are handed to it. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import type { Code, FailureDetails } from '../../errors.ts'
import { workOut } from './worked-out.ts'
import type { Result } from './worked-out.ts'

export interface Order {
  /** The body as it came. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[]
  /** For its text. */
  readonly lent: SharedArrayBuffer | null
}

export type Reply =
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'refused'; readonly code: Code; readonly details: FailureDetails }

export interface ThreadOptions {
  readonly passFields: readonly string[]
}

function answer({ pieces, lent }: Order, passFields: ReadonlySet<string>): Reply {
  try {
    return { kind: 'done', result: workOut(Buffer.concat(pieces), passFields, lent) }
  } catch (error) {
    // Whatever else is thrown ends this thread, of which the main one hears.
    if (!(error instanceof GatewayError)) throw error
    return { kind: 'refused', code: error.code, details: { ...error.details, cause: undefined } }
  }
}

if (parentPort === null) throw new Error('this file is started as a thread')
const port = parentPort
// Many short turns are waited for, and a long prompt takes long anyway: where both cores are wanted by others it has a tenth of one's weight.
// Elsewhere than on Linux a thread has no priority of its own, and the whole process would get it.
if (process.platform === 'linux') setPriority(0, 10)
const passFields = new Set((workerData as ThreadOptions).passFields)
port.on('message', (order: Order) => {
  const reply = answer(order, passFields)
  port.postMessage(reply, reply.kind === 'done' && reply.result.text !== null ? [reply.result.text] : [])
})
