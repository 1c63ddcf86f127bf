/** Arguments and options that several operator commands have. */
import { defineText } from '../../command-table/define-option.ts'
import type { Argument } from '../../command-table/command.ts'

export const accountArgument = {
  name: 'account',
  summary: { en: 'id or email address', zh: '账户 ID 或邮箱地址' },
} as const satisfies Argument

export const accountOption = defineText('account <account>', { en: 'id or email address', zh: '账户 ID 或邮箱地址' })

export const limitOption = defineText('limit <n>', { en: 'how many', zh: '显示的条数' }, { default: '50' })

export const afterOption = defineText('after <id>', { en: 'only those after this id', zh: '只显示该 ID 之后的条目' })

export const sinceOption = defineText('since <when>', { en: 'a date, or a span such as 1h', zh: '日期，或时长，例如 1h' })
