/** The table entries of `svc notify` and `svc notification`; `notification.ts` implements them. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import type { Argument, Command, CommandGroup } from '../command.ts'
import { paneOption, workspaceOption } from './shared-options.ts'

export const notify: Command = {
  name: 'notify',
  summary: { en: 'notify the user, without taking the focus', zh: '通知用户（不抢占焦点）' },
  examples: [
    { line: 'svc notify --title "Tests" --body "all passed"', text: { en: 'a notification', zh: '一条通知' } },
    { line: 'svc notify --title "Tests" --body "failed" --sound', text: { en: 'that is heard', zh: '带提示音' } },
  ],
  options: [
    defineText('title <text>', { en: 'its title', zh: '标题' }, { required: true }),
    defineText('body <text>', { en: 'its text; - is standard input', zh: '内容；- 表示标准输入' }, { required: true }),
    defineFlag('sound', { en: 'with a sound', zh: '带提示音' }),
    workspaceOption,
    paneOption,
  ],
  load: async () => ({ run: (await import('./notification.ts')).notify }),
}

const argument: Argument = { name: 'notification', summary: { en: 'id or number', zh: 'ID 或编号' } }

export const notificationGroup: CommandGroup = {
  name: 'notification',
  summary: { en: 'list the notifications', zh: '已发出的通知' },
  examples: [
    { line: 'svc notification list', text: { en: 'all; a star marks what is not read', zh: '全部；星号表示未读' } },
    { line: 'svc notification next-unread', text: { en: 'go to the origin of the next one', zh: '前往下一条未读通知的来源' } },
  ],
  commands: [
    {
      name: 'list',
      aliases: ['ls'],
      summary: { en: 'list notifications', zh: '列出通知' },
      examples: [{ line: 'svc notification list --unread', text: { en: 'what is not read', zh: '未读通知' } }],
      options: [defineFlag('unread', { en: 'only what is not read', zh: '仅未读' })],
      load: async () => ({ run: (await import('./notification.ts')).list }),
    },
    {
      name: 'read',
      summary: { en: 'print one and mark it as read', zh: '显示并标记为已读' },
      examples: [{ line: 'svc notification read 1', text: { en: 'the first', zh: '第一条' } }],
      arguments: [argument],
      load: async () => ({ run: (await import('./notification.ts')).read }),
    },
    {
      name: 'dismiss',
      summary: { en: 'delete one', zh: '删除一条' },
      examples: [{ line: 'svc notification dismiss 1', text: { en: 'the first', zh: '第一条' } }],
      arguments: [argument],
      load: async () => ({ run: (await import('./notification.ts')).dismiss }),
    },
    {
      name: 'clear',
      summary: { en: 'delete all', zh: '全部删除' },
      examples: [{ line: 'svc notification clear', text: { en: 'all', zh: '全部' } }],
      load: async () => ({ run: (await import('./notification.ts')).clear }),
    },
    {
      name: 'open',
      summary: { en: 'go to its origin (moves the focus)', zh: '前往通知来源（会移动焦点）' },
      examples: [{ line: 'svc notification open 1', text: { en: 'the first', zh: '第一条' } }],
      arguments: [argument],
      load: async () => ({ run: (await import('./notification.ts')).open }),
    },
    {
      name: 'next-unread',
      summary: { en: 'go to the origin of the oldest unread one (moves the focus)', zh: '前往最早未读通知的来源（会移动焦点）' },
      examples: [{ line: 'svc notification next-unread', text: { en: 'go', zh: '前往' } }],
      load: async () => ({ run: (await import('./notification.ts')).nextUnread }),
    },
  ],
}
