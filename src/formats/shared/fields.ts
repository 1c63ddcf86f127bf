/** Checks of single fields, each with the field's path in the client's format. */
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'

/** `invalidField('max_tokens', 'must be a number', '必须是数字')`. */
export function invalidField(path: string, en: string, zh: string): GatewayError {
  return invalidRequest({ en: `'${path}' ${en}.`, zh: `'${path}' ${zh}。` }, path)
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Clients send null for a field that they do not use. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

export function requireObject(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw invalidField(path, 'must be an object', '必须是对象')
  return value
}

export function readOptionalObject(value: unknown, path: string): JsonObject | undefined {
  return isAbsent(value) ? undefined : requireObject(value, path)
}

export function requireList(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidField(path, 'must be an array', '必须是数组')
  return value
}

/** @throws GatewayError if the value is no string, or empty */
export function requireText(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '')
    throw invalidField(path, 'must be a string that is not empty', '必须是非空字符串')
  return value
}

export function readOptionalText(value: unknown, path: string): string | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'string') throw invalidField(path, 'must be a string', '必须是字符串')
  return value
}

export function readOptionalNumber(value: unknown, path: string): number | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'number') throw invalidField(path, 'must be a number', '必须是数字')
  return value
}

export function readOptionalBoolean(value: unknown, path: string): boolean | undefined {
  if (isAbsent(value)) return undefined
  if (typeof value !== 'boolean') throw invalidField(path, 'must be true or false', '必须是 true 或 false')
  return value
}

export function readOptionalCount(value: unknown, path: string): number | undefined {
  const count = readOptionalNumber(value, path)
  if (count !== undefined && (!Number.isSafeInteger(count) || count < 1))
    throw invalidField(path, 'must be a whole number of at least 1', '必须是不小于 1 的整数')
  return count
}
