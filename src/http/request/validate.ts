/** Validates input by its schema; the error names the first invalid field, in both languages. */
import type { z } from 'zod'
import { printable } from '../../api/fields.ts'
import { invalidRequest } from '../../errors.ts'
import type { GatewayError, LocalizedText } from '../../errors.ts'

type Issue = z.core.$ZodIssue

/** @throws GatewayError `invalid_request`, naming the field */
export function validate<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(input)
  if (success) return data
  throw toValidationError(error.issues[0])
}

function toValidationError(issue: Issue | undefined): GatewayError {
  if (issue === undefined) throw new Error('a schema refused something and does not say what')
  const param = formatPath(issue.path)
  const { en, zh } = describeIssue(issue)
  return invalidRequest({ en: `'${param}' ${en}.`, zh: `'${param}' ${zh}。` }, param)
}

/** Formats a path as in `messages[0].role`. */
function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (name, part) => (typeof part === 'number' ? `${name}[${part}]` : name === '' ? String(part) : `${name}.${String(part)}`),
    '',
  )
}

/** Describes the fault, to be read after the field's name. */
function describeIssue(issue: Issue): LocalizedText {
  switch (issue.code) {
    case 'invalid_type':
      return typeMessages[issue.expected] ?? invalidText
    case 'invalid_value': {
      const values = issue.values.map(String)
      return { en: `must be one of: ${values.join(', ')}`, zh: `必须是以下之一：${values.join('、')}` }
    }
    case 'too_small':
      if (issue.origin === 'string') return { en: 'is empty', zh: '不能为空' }
      return { en: `must be at least ${issue.minimum}`, zh: `不能小于 ${issue.minimum}` }
    case 'too_big':
      if (issue.origin === 'string')
        return { en: `is longer than ${issue.maximum} characters`, zh: `超过 ${issue.maximum} 个字符` }
      return { en: `must be at most ${issue.maximum}`, zh: `不能大于 ${issue.maximum}` }
    case 'invalid_format':
      if (issue.format === 'datetime')
        return { en: 'must be a moment in UTC, such as 2026-11-29T14:05:00Z', zh: '必须是 UTC 时刻，例如 2026-11-29T14:05:00Z' }
      if (issue.format !== 'regex') return invalidText
      if (issue.pattern === String(printable)) return { en: 'has control characters', zh: '含有控制字符' }
      return { en: `must match ${issue.pattern}`, zh: `必须匹配 ${issue.pattern}` }
    case 'custom':
      return isLocalized(issue.params) ? issue.params : invalidText
    default:
      return invalidText
  }
}

/** What a rule of several fields has beside it in `src/api`. */
function isLocalized(
  params: Readonly<Record<string, unknown>> | undefined,
): params is { readonly en: string; readonly zh: string } {
  return typeof params?.['en'] === 'string' && typeof params['zh'] === 'string'
}

const invalidText = { en: 'is not valid', zh: '无效' }

const typeMessages: Readonly<Record<string, LocalizedText>> = {
  string: { en: 'must be a string', zh: '必须是字符串' },
  number: { en: 'must be a whole number', zh: '必须是整数' },
  int: { en: 'must be a whole number', zh: '必须是整数' },
  boolean: { en: 'must be true or false', zh: '必须是 true 或 false' },
  object: { en: 'must be an object', zh: '必须是对象' },
  array: { en: 'must be an array', zh: '必须是数组' },
}
