/** The one place that prints failures. */
import { styleText } from 'node:util'
import type { OutputSink } from './context.ts'
import type { ExitCode } from './exit-code.ts'
import { exitCodes } from './exit-code.ts'
import type { CommandFailure } from './failure.ts'
import { formatJsonLine } from './terminal/output-sink.ts'
import { fitLines } from './terminal/fit-lines.ts'
import { linkAddresses } from './terminal/hyperlink.ts'
import { sanitizeText } from './terminal/sanitize-text.ts'
import type { Language, LocalizedText } from '../command-table/localized-text.ts'
import { translate } from '../command-table/localized-text.ts'

/**
 * Prints the sentence, the hints, and last the line `Ref: …` on standard error; with `--json` prints the document on standard output
 * as well. Texts may come from a page or a remote machine, so terminal control sequences are removed. Returns the exit code.
 */
export function showFailure(
  failure: CommandFailure,
  output: {
    readonly stdout: Pick<OutputSink, 'write'>
    readonly stderr: Pick<OutputSink, 'write' | 'styled' | 'isTerminal' | 'columns'> & Partial<Pick<OutputSink, 'hyperlinks'>>
    readonly json: boolean
  },
  language: Language,
): ExitCode {
  const { stdout, stderr, json } = output
  const say = (text: LocalizedText) => translate(text, language)
  const formatText = (text: LocalizedText) => sanitizeText(say(text))
  const label = say({ en: 'error: ', zh: '错误：' })
  const styledLabel = stderr.styled ? styleText(['bold', 'red'], label, { validateStream: false }) : label
  // The label's style is added last, because a line with styles is not broken.
  const sentence = fitLines(stderr, label + formatText(failure.text))
  const lines = [sentence.replace(label, () => styledLabel), ...failure.hints.map((hint) => `  ${formatText(hint)}`)]
  if (failure.ref !== undefined) lines.push(failure.ref)
  stderr.write(linkAddresses(stderr, `${lines.map((line) => fitLines(stderr, line)).join('\n')}\n`))
  if (json) {
    const { code, ref, details } = failure
    stdout.write(formatJsonLine({ ok: false, error: { code, message: say(failure.text), ref, details } }))
  }
  return exitCodes[failure.exit].code
}
