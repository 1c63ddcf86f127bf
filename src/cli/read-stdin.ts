/** Reads all of standard input. Ctrl-C ends the wait. */
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Context } from './context.ts'

export function readStdin({ stdin, signal }: Pick<Context, 'stdin' | 'signal'>): Promise<string> {
  return text(addAbortSignal(signal, stdin))
}

/** Returns an argument's value, or all of standard input where it is `-`. */
export async function readTextOrStdin(context: Context, word: string): Promise<string> {
  return word === '-' ? readStdin(context) : word
}
