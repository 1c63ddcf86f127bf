/** A value of the command line, or all of standard input where it is `-`. */
import type { Context } from '../context.ts'
import { readInput } from '../read-input.ts'

export async function textOrInput(context: Context, word: string): Promise<string> {
  return word === '-' ? readInput(context) : word
}
