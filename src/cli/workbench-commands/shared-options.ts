/** Options and arguments that several workbench commands share. */
import { defineText } from '../../command-table/define-option.ts'
import type { Argument } from '../command.ts'

const targetSummary = {
  en: 'id or number; default: where this command runs, else the one in front',
  zh: 'ID 或编号；默认为命令所在处，否则为当前项',
}
const pageSummary = { en: 'id or number; default: the newest of the workspace', zh: 'ID 或编号；默认为工作区中最新的页面' }
const selectorSummary = { en: 'a CSS selector, or @e5 of the last snapshot', zh: 'CSS 选择器，或最近快照中的 @e5' }

export const workspaceOption = defineText('workspace <id>', targetSummary)
export const paneOption = defineText('pane <id>', targetSummary)
export const pageOption = defineText('page <id>', pageSummary)
export const selectorOption = defineText('selector <css_selector>', selectorSummary)

export const cwdOption = defineText('cwd <dir>', { en: 'the directory it begins in', zh: '起始目录' })

export const commandOption = defineText('command <text>', { en: 'typed into its shell', zh: '输入到其 shell 的命令' })

export const waitOption = defineText(
  'wait <state>',
  { en: 'until the page is that far', zh: '等待页面达到的状态' },
  { choices: ['load', 'domcontentloaded', 'networkidle'], defaultText: 'load' },
)

export const directions = ['right', 'left', 'up', 'down'] as const

export const workspaceArgument: Argument = { name: 'workspace', summary: { en: 'id or number', zh: 'ID 或编号' } }
export const paneArgument: Argument = { name: 'pane', summary: { en: 'id or number', zh: 'ID 或编号' } }
