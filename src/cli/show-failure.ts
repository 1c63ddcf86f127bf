/** The one place where a failure is shown. */
import { styleText } from 'node:util'
import type { Sink } from './context.ts'
import type { ExitCode } from './exit-code.ts'
import { exitCodes } from './exit-code.ts'
import type { CommandFailure } from './failure.ts'
import { toJsonLine } from './output.ts'
import { terminalText } from './terminal-text.ts'
import type { Language, Text } from './text.ts'
import { inLanguage } from './text.ts'

/**
 * Standard error gets the sentence, what to do, and last the line `Ref: …`;
 * with `--json` standard output gets the document as well. The words may be those of a page or a remote machine: what a terminal
 * would act on is taken out. Returns the exit code.
 */
export function showFailure(
  failure: CommandFailure,
  output: { readonly stdout: Pick<Sink, 'write'>; readonly stderr: Pick<Sink, 'write' | 'styled'>; readonly json: boolean },
  language: Language,
): ExitCode {
  const { stdout, stderr, json } = output
  const say = (text: Text) => inLanguage(text, language)
  const shown = (text: Text) => terminalText(say(text))
  const label = say({ en: 'error:', zh: '错误:' })
  const styled = stderr.styled ? styleText(['bold', 'red'], label, { validateStream: false }) : label
  const lines = [`${styled} ${shown(failure.text)}`, ...failure.hints.map((hint) => `  ${shown(hint)}`)]
  if (failure.ref !== undefined) lines.push(failure.ref)
  stderr.write(`${lines.join('\n')}\n`)
  if (json) {
    const { code, ref, details } = failure
    stdout.write(toJsonLine({ ok: false, error: { code, message: say(failure.text), ref, details } }))
  }
  return exitCodes[failure.exit].code
}
