/** Every method of the protocol, and the types that follow from it. Only the host loads this file. */
import type { z } from 'zod'
import { browserMethods } from './browser-methods.ts'
import type { Result } from './define-method.ts'
import { filesMethods } from './files-methods.ts'
import { notificationMethods } from './notification-methods.ts'
import { paneMethods } from './pane-methods.ts'
import type { Id } from './protocol.ts'
import { sshMethods } from './ssh-methods.ts'
import { systemMethods } from './system-methods.ts'
import { workspaceMethods } from './workspace-methods.ts'

export const methods = {
  ...systemMethods,
  ...workspaceMethods,
  ...paneMethods,
  ...notificationMethods,
  ...browserMethods,
  ...sshMethods,
  ...filesMethods,
}

type Methods = typeof methods
export type Method = keyof Methods
/** The methods that may move the focus. */
export type FocusMethod = { [M in Method]: Methods[M] extends { readonly focus: true } ? M : never }[Method]
export type QuietMethod = Exclude<Method, FocusMethod>

/** The checked parameters that a method's handler receives. */
export type ParamsOf<M extends Method> = z.output<Methods[M]['params']>
export type ResultOf<M extends Method> = Methods[M]['result'] extends Result<infer Value> ? Value : never

export const methodNames = Object.keys(methods) as readonly Method[]
export const focusMethods = methodNames.filter(isFocusMethod)

/** Whether calling `method` may move the focus. */
export function isFocusMethod(method: Method): method is FocusMethod {
  return 'focus' in methods[method]
}

/** The cause of a focus move: an audit trail for the focus rule. */
export type FocusCause = { readonly kind: 'user' } | { readonly kind: 'method'; readonly method: Method; readonly requestId: Id }
