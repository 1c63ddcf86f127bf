/** The dialogue of `svc-gateway init` on the terminal. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { OperatorError } from '../../../system/operator-error.ts'
import type { Dialogue } from './ask-questions.ts'

export function openTerminalDialogue(): Dialogue & { close(): void } {
  let isMuted = false
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isMuted) process.stderr.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  const inputEnd = Promise.withResolvers<never>()
  inputEnd.promise.catch(() => undefined)
  lines.once('close', () => inputEnd.reject(new OperatorError('The input has ended; nothing was written.')))
  lines.once('SIGINT', () => lines.close())
  return {
    print: (text) => void process.stderr.write(text),
    async ask(question, { isSecret = false } = {}) {
      // readline draws the line anew at each key, with the question that it was given.
      if (isSecret) process.stderr.write(question)
      isMuted = isSecret
      try {
        const query = isSecret ? '' : question
        return await Promise.race([new Promise<string>((resolve) => lines.question(query, resolve)), inputEnd.promise])
      } finally {
        isMuted = false
        if (isSecret) process.stderr.write('\n')
      }
    },
    close: () => lines.close(),
  }
}
