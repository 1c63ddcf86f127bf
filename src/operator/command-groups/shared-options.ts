/** Arguments and options that several operator commands have. */
import type { Argument, Option } from '../../command-table/command.ts'

export const accountArgument = {
  name: 'account',
  summary: { en: 'id or email address', zh: '账户 ID 或邮箱地址' },
} as const satisfies Argument

export const accountOption = {
  name: 'account',
  kind: 'text',
  placeholder: 'account',
  summary: { en: 'id or email address', zh: '账户 ID 或邮箱地址' },
} as const satisfies Option

export const limitOption = {
  name: 'limit',
  kind: 'text',
  placeholder: 'n',
  default: '50',
  summary: { en: 'how many', zh: '显示的条数' },
} as const satisfies Option

export const afterOption = {
  name: 'after',
  kind: 'text',
  placeholder: 'id',
  summary: { en: 'only those after this id', zh: '只显示该 ID 之后的条目' },
} as const satisfies Option

export const sinceOption = {
  name: 'since',
  kind: 'text',
  placeholder: 'when',
  summary: { en: 'a date, or a span such as 1h', zh: '日期，或时长，例如 1h' },
} as const satisfies Option
