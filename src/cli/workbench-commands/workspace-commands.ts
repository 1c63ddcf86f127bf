/** The table entries of `svc workspace` and `svc pane`; `workspace.ts` and `pane.ts` implement them. */
import { defineFlag, defineList, defineNumber, defineText } from '../../command-table/define-option.ts'
import type { Command, CommandGroup } from '../command.ts'
import {
  commandOption,
  cwdOption,
  directions,
  paneArgument,
  paneOption,
  workspaceArgument,
  workspaceOption,
} from './shared-options.ts'

export const workspaceGroup: CommandGroup = {
  name: 'workspace',
  summary: { en: 'workspaces: make, list, show, close', zh: '工作区：新建、列出、显示、关闭' },
  description: {
    en: 'Only focus, next, previous and last bring a workspace to the front; all other commands work in the background.',
    zh: '只有 focus、next、previous 和 last 会改变当前显示；其他命令均在后台进行。',
  },
  examples: [
    { line: 'svc workspace new --title Build', text: { en: 'a new one, in the background', zh: '在后台新建' } },
    { line: 'svc workspace list', text: { en: 'all of them', zh: '列出全部' } },
    { line: 'svc workspace focus 2', text: { en: 'bring one to the front', zh: '切换到某个工作区' } },
  ],
  commands: [
    {
      name: 'list',
      aliases: ['ls'],
      summary: { en: 'list the workspaces', zh: '列出工作区' },
      examples: [{ line: 'svc workspace list', text: { en: 'a star marks the one in front', zh: '星号表示当前工作区' } }],
      load: async () => ({ run: (await import('./workspace.ts')).list }),
    },
    {
      name: 'new',
      aliases: ['create'],
      summary: { en: 'make a workspace in the background', zh: '在后台新建工作区' },
      examples: [
        { line: 'svc workspace new --title Build', text: { en: 'in this directory', zh: '在当前目录' } },
        {
          line: 'svc workspace new --title Tests --command "npm test"',
          text: { en: 'and type a command', zh: '并输入一条命令' },
        },
      ],
      options: [
        defineText('title <text>', { en: 'its title', zh: '标题' }, { required: true }),
        { ...cwdOption, defaultText: { en: 'this directory', zh: '当前目录' } },
        commandOption,
        defineList('env <NAME=value>', { en: 'a variable for its shell', zh: '其 shell 的环境变量' }),
      ],
      load: async () => ({ run: (await import('./workspace.ts')).create }),
    },
    {
      name: 'show',
      summary: { en: 'its panes and pages; this does not bring it to the front', zh: '显示其窗格和页面（不会切换过去）' },
      examples: [{ line: 'svc workspace show 2', text: { en: 'of the second', zh: '第二个工作区' } }],
      arguments: [{ ...workspaceArgument, optional: true }],
      load: async () => ({ run: (await import('./workspace.ts')).show }),
    },
    {
      name: 'rename',
      summary: { en: 'give it another title', zh: '修改标题' },
      examples: [{ line: 'svc workspace rename 2 --title Release', text: { en: 'the second', zh: '第二个工作区' } }],
      arguments: [workspaceArgument],
      options: [defineText('title <text>', { en: 'its title', zh: '标题' }, { required: true })],
      load: async () => ({ run: (await import('./workspace.ts')).rename }),
    },
    {
      name: 'close',
      summary: { en: 'close it and end its programs', zh: '关闭并结束其中的程序' },
      examples: [{ line: 'svc workspace close 2', text: { en: 'the second', zh: '第二个工作区' } }],
      arguments: [workspaceArgument],
      options: [defineFlag('force', { en: 'also when it is in front', zh: '即使它是当前工作区' })],
      load: async () => ({ run: (await import('./workspace.ts')).close }),
    },
    {
      name: 'focus',
      aliases: ['select'],
      summary: { en: 'bring it to the front', zh: '切换到该工作区' },
      examples: [{ line: 'svc workspace focus 2', text: { en: 'the second', zh: '第二个工作区' } }],
      arguments: [workspaceArgument],
      load: async () => ({ run: (await import('./workspace.ts')).focus }),
    },
    createStepCommand('next', 'bring the next one to the front', '切换到下一个'),
    createStepCommand('previous', 'bring the one before to the front', '切换到上一个'),
    createStepCommand('last', 'bring the previously focused one to the front', '切换到刚才的工作区'),
  ],
}

export const paneGroup: CommandGroup = {
  name: 'pane',
  summary: { en: 'panes: split, type into, read, close', zh: '窗格：拆分、输入、读取、关闭' },
  description: {
    en: 'Only focus and last change which pane has the keys.',
    zh: '只有 focus 和 last 会改变键盘所在的窗格。',
  },
  examples: [
    { line: 'svc pane split --direction right', text: { en: 'a new pane beside this one', zh: '在右侧新建窗格' } },
    {
      line: 'svc pane send --pane 2 --enter "npm test"',
      text: { en: 'type a line into the second', zh: '向第二个窗格输入一行' },
    },
    { line: 'svc pane read --pane 2 --lines 100', text: { en: 'what it shows', zh: '读取其内容' } },
  ],
  commands: [
    {
      name: 'list',
      aliases: ['ls'],
      summary: { en: 'list the panes of a workspace', zh: '列出工作区的窗格' },
      examples: [
        { line: 'svc pane list', text: { en: 'of this workspace', zh: '当前工作区' } },
        { line: 'svc pane list --all', text: { en: 'of all', zh: '所有工作区' } },
      ],
      options: [workspaceOption, defineFlag('all', { en: 'of every workspace', zh: '所有工作区' })],
      load: async () => ({ run: (await import('./pane.ts')).list }),
    },
    {
      name: 'split',
      summary: { en: 'make a pane beside another, in the background', zh: '在后台拆分出新窗格' },
      examples: [
        { line: 'svc pane split --direction right', text: { en: 'on the right', zh: '在右侧' } },
        {
          line: 'svc pane split --direction down --size 30 --command "tail -f log"',
          text: { en: 'small, below, with a command', zh: '在下方、较小，并执行命令' },
        },
      ],
      options: [
        defineText('direction <direction>', { en: 'on which side', zh: '方向' }, { choices: directions, defaultText: 'right' }),
        paneOption,
        workspaceOption,
        defineNumber('size <percent>', { en: 'of the space of the pane that is split', zh: '占被拆分窗格的百分比' }),
        cwdOption,
        commandOption,
      ],
      load: async () => ({ run: (await import('./pane.ts')).split }),
    },
    {
      name: 'send',
      summary: { en: 'type text into a pane', zh: '向窗格输入文本' },
      examples: [
        { line: 'svc pane send --pane 2 --enter "make test"', text: { en: 'a line, with Enter', zh: '一行并回车' } },
        { line: 'cat script | svc pane send --pane 2 -', text: { en: 'from standard input', zh: '来自标准输入' } },
      ],
      arguments: [{ name: 'text', summary: { en: 'what to type; - is standard input', zh: '要输入的文本；- 表示标准输入' } }],
      options: [paneOption, workspaceOption, defineFlag('enter', { en: 'press Enter after it', zh: '之后按回车' })],
      load: async () => ({ run: (await import('./pane.ts')).send }),
    },
    {
      name: 'key',
      summary: { en: 'press a key in a pane', zh: '在窗格中按键' },
      examples: [{ line: 'svc pane key --pane 2 C-c', text: { en: 'Ctrl-C', zh: 'Ctrl-C' } }],
      arguments: [{ name: 'key', summary: { en: 'Enter, Escape, Up, F5, C-c, M-x …', zh: 'Enter、Escape、Up、F5、C-c、M-x …' } }],
      options: [paneOption, workspaceOption],
      load: async () => ({ run: (await import('./pane.ts')).key }),
    },
    {
      name: 'read',
      summary: { en: 'print the screen of a pane', zh: '输出窗格内容' },
      examples: [
        {
          line: 'svc pane read --pane 2 --lines 200',
          text: { en: 'with two hundred lines of its history', zh: '包含已滚出的 200 行' },
        },
      ],
      options: [
        paneOption,
        workspaceOption,
        defineNumber('lines <n>', { en: 'lines above the visible ones', zh: '可见区域之上的行数' }, { defaultText: '0' }),
      ],
      load: async () => ({ run: (await import('./pane.ts')).read }),
    },
    {
      name: 'resize',
      summary: { en: 'make a pane wider, narrower, higher or lower', zh: '调整窗格大小' },
      examples: [{ line: 'svc pane resize --pane 2 --cols 60', text: { en: 'sixty columns', zh: '六十列' } }],
      options: [
        paneOption,
        workspaceOption,
        defineNumber('cols <n>', { en: 'columns', zh: '列数' }),
        defineNumber('rows <n>', { en: 'lines', zh: '行数' }),
      ],
      load: async () => ({ run: (await import('./pane.ts')).resize }),
    },
    {
      name: 'close',
      summary: { en: 'close a pane and end its program', zh: '关闭窗格并结束其中的程序' },
      examples: [{ line: 'svc pane close 2', text: { en: 'the second of this workspace', zh: '当前工作区的第二个' } }],
      arguments: [paneArgument],
      options: [defineFlag('force', { en: 'also when it has the keys', zh: '即使键盘在该窗格' })],
      load: async () => ({ run: (await import('./pane.ts')).close }),
    },
    {
      name: 'focus',
      summary: { en: 'give a pane the focus', zh: '切换到某个窗格' },
      examples: [
        { line: 'svc pane focus 2', text: { en: 'the second', zh: '第二个窗格' } },
        { line: 'svc pane focus --direction left', text: { en: 'the one on the left', zh: '左侧窗格' } },
      ],
      arguments: [{ ...paneArgument, optional: true }],
      options: [defineText('direction <direction>', { en: 'the one on that side', zh: '该方向的窗格' }, { choices: directions })],
      load: async () => ({ run: (await import('./pane.ts')).focus }),
    },
    {
      name: 'last',
      summary: { en: 'give the focus back to the previous pane', zh: '切换到刚才的窗格' },
      examples: [{ line: 'svc pane last', text: { en: 'back', zh: '返回' } }],
      load: async () => ({ run: (await import('./pane.ts')).last }),
    },
  ],
}

function createStepCommand(name: 'next' | 'previous' | 'last', en: string, zh: string): Command {
  return {
    name,
    summary: { en, zh },
    examples: [{ line: `svc workspace ${name}`, text: { en, zh } }],
    load: async () => ({ run: (await import('./workspace.ts'))[name] }),
  }
}
