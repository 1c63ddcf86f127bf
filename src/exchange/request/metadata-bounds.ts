/** Bounds on the labels that a client attaches to its request. They are OpenAI's own, because answers of the Responses API repeat them. */
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'

const maxPairs = 16
const maxNameLength = 64
const maxValueLength = 512
/** Of `metadata.user_id` in the Messages API. Claude Code sends about 170 characters. */
const maxUserIdLength = 1_024

/** @throws GatewayError `invalid_request` if it is anything but an object of short texts */
export function checkMetadata(value: unknown, path: string): void {
  if (value === undefined || value === null) return
  if (!isRecord(value)) throw invalidMetadata(path, { en: 'must be an object', zh: '必须是对象' })
  let pairs = 0
  for (const key in value) {
    if (++pairs > maxPairs) throw invalidMetadata(path, { en: `has more than ${maxPairs} pairs`, zh: `超过 ${maxPairs} 项` })
    if (key.length > maxNameLength)
      throw invalidMetadata(path, {
        en: `has a name longer than ${maxNameLength} characters`,
        zh: `中有名称超过 ${maxNameLength} 个字符`,
      })
    const text = value[key]
    if (typeof text !== 'string') throw invalidMetadata(`${path}.${key}`, { en: 'must be a string', zh: '必须是字符串' })
    if (text.length > maxValueLength)
      throw invalidMetadata(`${path}.${key}`, {
        en: `is longer than ${maxValueLength} characters`,
        zh: `超过 ${maxValueLength} 个字符`,
      })
  }
}

/** Of the Messages API, which has one key. @throws GatewayError `invalid_request` */
export function checkUserMetadata(value: unknown, path: string): void {
  if (value === undefined || value === null) return
  if (!isRecord(value)) throw invalidMetadata(path, { en: 'must be an object', zh: '必须是对象' })
  const { user_id: userId, ...others } = value
  if (userId !== undefined && userId !== null && typeof userId !== 'string')
    throw invalidMetadata(`${path}.user_id`, { en: 'must be a string', zh: '必须是字符串' })
  if (typeof userId === 'string' && userId.length > maxUserIdLength)
    throw invalidMetadata(`${path}.user_id`, {
      en: `is longer than ${maxUserIdLength} characters`,
      zh: `超过 ${maxUserIdLength} 个字符`,
    })
  checkMetadata(others, path)
}

function invalidMetadata(path: string, { en, zh }: { readonly en: string; readonly zh: string }): GatewayError {
  return invalidRequest({ en: `'${path}' ${en}.`, zh: `'${path}' ${zh}。` }, path)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
