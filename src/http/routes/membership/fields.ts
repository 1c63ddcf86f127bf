/** Reading a body's fields, each failure naming its own. */
import { invalidRequest } from '../../../errors.ts'

type Body = Readonly<Record<string, unknown>>

/** A string that is there. Control characters are refused: nothing typed by a person has them. */
export function textField(body: Body, name: string, { max = 256 }: { readonly max?: number } = {}): string {
  const value = body[name]
  if (typeof value !== 'string') throw invalidRequest({ en: `'${name}' must be a string.`, zh: `'${name}' 必须是字符串。` }, name)
  if (value === '') throw invalidRequest({ en: `'${name}' is empty.`, zh: `'${name}' 不能为空。` }, name)
  if (value.length > max)
    throw invalidRequest({ en: `'${name}' is longer than ${max} characters.`, zh: `'${name}' 超过 ${max} 个字符。` }, name)
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(value))
    throw invalidRequest({ en: `'${name}' has control characters.`, zh: `'${name}' 含有控制字符。` }, name)
  return value
}

export function optionalTextField(body: Body, name: string, options: { readonly max?: number } = {}): string | null {
  const value = body[name]
  return value === undefined || value === null || value === '' ? null : textField(body, name, options)
}

/** Passwords are taken as they are, whatever their letters; only their type and a size that cannot be meant are looked at here. */
export function passwordField(body: Body, name: string): string {
  const value = body[name]
  if (typeof value !== 'string' || value === '')
    throw invalidRequest({ en: `'${name}' must be a string.`, zh: `'${name}' 必须是字符串。` }, name)
  if (value.length > 1024)
    throw invalidRequest({ en: `'${name}' is longer than a password may be.`, zh: `'${name}' 超过密码允许的长度。` }, name)
  return value
}

export function optionalWholeNumber(
  body: Body,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | null {
  const value = body[name]
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw invalidRequest(
      { en: `'${name}' must be a whole number from ${min} to ${max}.`, zh: `'${name}' 必须是 ${min} 到 ${max} 的整数。` },
      name,
    )
  return value
}
