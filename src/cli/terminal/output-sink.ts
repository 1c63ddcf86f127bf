/** The outputs of `svc`: standard output and error as sinks, and JSON on one line without control characters. */
import type { Environment } from '../user-config/credentials.ts'
import type { OutputSink } from '../context.ts'
import type { ProcessOutput } from '../process-io.ts'
import { supportsHyperlinks } from './hyperlink.ts'

/** A process's stream as a sink. A reader that closes the pipe (`svc models | head -1`) is not a failure: `gone` is called once. */
export function createOutputSink(
  stream: ProcessOutput,
  environment: Environment,
  noColor: boolean,
  onClosed: () => void,
): OutputSink {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    onClosed()
  })
  const styled = isStyled(stream.isTTY === true, environment.variables, noColor)
  let hyperlinks: boolean | undefined
  return {
    isTerminal: stream.isTTY === true,
    // Read each time, because the user may resize the window.
    get columns() {
      return stream.columns ?? 80
    },
    get rows() {
      return stream.rows ?? 24
    },
    styled,
    get hyperlinks() {
      return (hyperlinks ??= styled && supportsHyperlinks(stream))
    },
    write: (text) => {
      stream.write(text)
    },
  }
}

/**
 * One line of JSON. `JSON.stringify` does not escape DEL, the C1 controls and the direction overrides, which a terminal may
 * interpret; escaped they are the same JSON.
 */
export function formatJsonLine(value: unknown): string {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replaceAll(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, escape)}\n`
}

/** `--no-color` first, then FORCE_COLOR before NO_COLOR, the order that Node uses. */
function isStyled(isTerminal: boolean, variables: Environment['variables'], noColor: boolean): boolean {
  const force = variables['FORCE_COLOR'] ?? ''
  if (noColor) return false
  if (force !== '') return force !== '0'
  return isTerminal && (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb'
}
