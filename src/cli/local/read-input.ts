import { text } from 'node:stream/consumers'
import type { Context } from '../context.ts'

/** A value of the command line, or all of standard input where it is `-`. */
export async function textOrInput(context: Context, word: string): Promise<string> {
  return word === '-' ? text(context.stdin) : word
}
