/** What the browser library throws, in the protocol's words. `doing` names the act for people: "fill #name". */
import { WorkbenchError } from '../protocol.ts'

export function browserFailure(error: unknown, doing: string): WorkbenchError {
  if (error instanceof WorkbenchError) return error
  const words = error instanceof Error ? error.message : String(error)
  const net = /net::(ERR_[A-Z_]+)/.exec(words)?.[1]
  const [first = ''] = words.split('\n')
  if (net) return new WorkbenchError('navigation_failed', `${doing}: ${net}`, { details: { net }, cause: error })
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new WorkbenchError('timeout', `${doing}: not in time`, { details: { message: first }, cause: error })
  }
  if (/Element is not an <input>|not editable|not an? (?:<select>|checkbox)|Not a checkbox|Element is not/i.test(words)) {
    return new WorkbenchError('element_not_editable', `${doing}: the element cannot take this`, {
      details: { message: first },
      cause: error,
    })
  }
  if (/selector|Unexpected token|is not a valid|while parsing/i.test(words)) {
    return new WorkbenchError('invalid_params', `${doing}: ${first}`, { cause: error })
  }
  if (/has been closed|Target closed|crashed/i.test(words)) {
    return new WorkbenchError('not_found', `${doing}: the page was closed`, { cause: error })
  }
  return new WorkbenchError('navigation_failed', `${doing}: ${first}`, { details: { message: first }, cause: error })
}
