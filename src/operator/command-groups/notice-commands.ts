/** `svc-gateway notice …`: texts for all readers of the site. */
import { defineText } from '../../command-table/define-option.ts'
import { defineCommand } from './define-command.ts'
import type { OperatorGroup } from './define-command.ts'
import { limitOption } from './shared-options.ts'

const kinds = ['information', 'disturbance', 'maintenance'] as const

const kind = {
  name: 'kind',
  kind: 'text',
  placeholder: 'kind',
  choices: kinds,
  summary: {
    en: 'information, disturbance or maintenance',
    zh: 'information（通知）、disturbance（故障）或 maintenance（维护）',
  },
} as const
const en = defineText('en <text>', { en: 'the text in English', zh: '英文内容' })
const zh = defineText('zh <text>', { en: 'the text in Chinese', zh: '中文内容' })
const from = defineText('from <when>', {
  en: 'when it begins: a date and time, or a span from now such as 2h',
  zh: '开始时间：日期时间，或从现在起的时长，例如 2h',
})
const until = defineText('until <when>', {
  en: 'when it ends: a date and time, or a span from now such as 2h',
  zh: '结束时间：日期时间，或从现在起的时长，例如 2h',
})
const reason = defineText('reason <text>', { en: 'why; kept in the audit log', zh: '原因；记入审计日志' })
const notice = { name: 'notice', summary: { en: 'its id', zh: '公告 ID' } } as const

export const noticeCommands: OperatorGroup = {
  name: 'notice',
  summary: { en: 'tell all readers of disturbances and maintenance', zh: '向所有读者发布故障和维护公告' },
  examples: [{ line: 'svc-gateway notice list' }],
  commands: [
    defineCommand({
      name: 'list',
      summary: { en: 'list notices, newest first', zh: '列出公告，最新的在前' },
      examples: [{ line: 'svc-gateway notice list' }],
      options: [limitOption],
      load: async () => (await import('../commands/notice.ts')).listNotices,
    }),
    defineCommand({
      name: 'add',
      summary: { en: 'add a notice, in one language or both', zh: '添加公告（一种或两种语言）' },
      examples: [{ line: "svc-gateway notice add --kind disturbance --en 'Answers are slow.' --zh '响应较慢。' --until 2h" }],
      options: [{ ...kind, default: 'information' }, en, zh, from, { ...until, required: true }, reason],
      load: async () => (await import('../commands/notice.ts')).addNotice,
    }),
    defineCommand({
      name: 'change',
      summary: { en: 'change a notice that is not over; what is left out stays', zh: '修改未结束的公告；未给出的内容不变' },
      examples: [{ line: 'svc-gateway notice change ntc_01KC0V8Q4T6RZ5M1XG2N9H7EJW --until 4h' }],
      arguments: [notice],
      options: [kind, en, zh, from, until, reason],
      load: async () => (await import('../commands/notice.ts')).changeNotice,
    }),
    defineCommand({
      name: 'end',
      summary: { en: 'end a notice now', zh: '立即结束公告' },
      examples: [{ line: 'svc-gateway notice end ntc_01KC0V8Q4T6RZ5M1XG2N9H7EJW' }],
      arguments: [notice],
      options: [reason],
      load: async () => (await import('../commands/notice.ts')).endNotice,
    }),
  ],
}
