/** All of standard input. Ctrl-C ends the waiting for it. */
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Context } from './context.ts'

export function readInput({ stdin, signal }: Pick<Context, 'stdin' | 'signal'>): Promise<string> {
  return text(addAbortSignal(signal, stdin))
}
