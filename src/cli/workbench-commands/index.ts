/** The commands of the workbench behind the local socket. */
import { defineFlag, defineList, defineNumber } from '../../command-table/define-option.ts'
import type { Command, CommandGroup, Option, CommandSpec } from '../command.ts'
import { browserGroup } from './browser-commands.ts'
import { filesGroup, sshGroup } from './ssh-commands.ts'
import { notificationGroup, notify } from './notification-commands.ts'
import { paneGroup, workspaceGroup } from './workspace-commands.ts'

const workbenchGroup: CommandGroup = {
  name: 'workbench',
  summary: { en: 'start, stop and examine the workbench itself', zh: '启动、停止和检查工作台' },
  description: {
    en: 'The workbench runs in the background and is started by the first command that needs it. What runs in its panes goes on when it is stopped, and is found again when it is started.',
    zh: '工作台在后台运行，由第一个需要它的命令自动启动。停止后窗格中的程序继续运行，再次启动时会被重新找到。',
  },
  examples: [
    {
      line: 'svc workbench doctor',
      text: { en: 'list programs missing on this machine and how to install them', zh: '检查本机缺少哪些程序以及如何安装' },
    },
    { line: 'svc workbench stop', text: { en: 'stop it; the panes go on', zh: '停止工作台；窗格继续运行' } },
  ],
  commands: [
    {
      name: 'start',
      summary: { en: 'start it, if it does not run', zh: '若未运行则启动' },
      examples: [{ line: 'svc workbench start', text: { en: 'in the background', zh: '在后台启动' } }],
      options: [defineFlag('foreground', { en: 'in this terminal, until Ctrl-C', zh: '在此终端中运行，直到按下 Ctrl-C' })],
      load: async () => ({ run: (await import('./workbench.ts')).start }),
    },
    {
      name: 'stop',
      summary: { en: 'stop it; programs in its panes continue to run', zh: '停止工作台；窗格中的程序继续运行' },
      examples: [{ line: 'svc workbench stop', text: { en: 'stop', zh: '停止' } }],
      options: [defineFlag('kill', { en: 'end everything in its panes, too', zh: '同时结束窗格中的所有程序' })],
      load: async () => ({ run: (await import('./workbench.ts')).stop }),
    },
    {
      name: 'status',
      summary: { en: 'show whether it runs, and its engines', zh: '查看运行状态' },
      examples: [{ line: 'svc workbench status', text: { en: 'exit code 3 when it does not run', zh: '未运行时退出码为 3' } }],
      load: async () => ({ run: (await import('./workbench.ts')).status }),
    },
    {
      name: 'doctor',
      summary: { en: 'list programs missing on this machine and how to install them', zh: '检查本机缺少的程序及安装方法' },
      examples: [{ line: 'svc workbench doctor', text: { en: 'check', zh: '检查' } }],
      load: async () => ({ run: (await import('./workbench.ts')).doctor }),
    },
    {
      name: 'logs',
      summary: { en: 'the last lines of its log', zh: '显示日志的最后几行' },
      examples: [{ line: 'svc workbench logs --lines 20', text: { en: 'the last twenty', zh: '最后二十行' } }],
      options: [defineNumber('lines <n>', { en: 'how many', zh: '行数' }, { defaultText: '50' })],
      load: async () => ({ run: (await import('./workbench.ts')).logs }),
    },
  ],
}

const attach: Command = {
  name: 'attach',
  summary: { en: 'show the workbench in this terminal', zh: '在此终端中显示工作台' },
  description: {
    en: 'The keys are those of tmux: Ctrl-B then D leaves, and everything runs on.',
    zh: '按键与 tmux 相同：Ctrl-B 然后 D 离开，所有程序继续运行。',
  },
  examples: [
    { line: 'svc attach', text: { en: 'where it was left', zh: '回到上次的位置' } },
    { line: 'svc attach 2', text: { en: 'with the second workspace in front', zh: '并显示第二个工作区' } },
  ],
  arguments: [{ name: 'workspace', optional: true, summary: { en: 'id or number', zh: 'ID 或编号' } }],
  load: () => import('./attach.ts'),
}

const events: Command = {
  name: 'events',
  summary: { en: 'print the events of the workbench as they occur', zh: '实时显示工作台中发生的事件' },
  examples: [
    { line: 'svc events --json', text: { en: 'one JSON object a line', zh: '每行一个 JSON 对象' } },
    { line: 'svc events --name notification.created', text: { en: 'one kind alone', zh: '仅一种事件' } },
  ],
  options: [
    defineList('name <event>', { en: 'only these', zh: '仅显示这些事件' }),
    defineNumber('after <seq>', {
      en: 'also those after this number, as far as they are kept',
      zh: '同时显示此序号之后仍保留的事件',
    }),
  ] satisfies readonly Option[],
  load: async () => ({ run: (await import('./workbench.ts')).events }),
}

const rpc: Command = {
  name: 'rpc',
  summary: { en: 'call one method of the workbench by its name', zh: '按名称调用工作台的方法' },
  examples: [
    { line: 'svc rpc workspace.list', text: { en: 'without parameters', zh: '无参数' } },
    { line: `svc rpc pane.split '{"direction":"down"}'`, text: { en: 'with parameters as JSON', zh: '使用 JSON 参数' } },
  ],
  arguments: [
    { name: 'method', summary: { en: 'a method of svc capabilities', zh: 'svc capabilities 中的方法' } },
    { name: 'params', optional: true, summary: { en: 'a JSON object', zh: 'JSON 对象' } },
  ],
  load: async () => ({ run: (await import('./workbench.ts')).rpc }),
}

export const workbenchCommands: readonly CommandSpec[] = [
  workspaceGroup,
  paneGroup,
  notify,
  notificationGroup,
  browserGroup,
  sshGroup,
  filesGroup,
  attach,
  workbenchGroup,
  {
    name: 'tree',
    summary: { en: 'workspaces, panes and pages at a glance', zh: '工作区、窗格和页面一览' },
    examples: [{ line: 'svc tree', text: { en: 'a star marks what is in front', zh: '星号表示当前项' } }],
    load: async () => ({ run: (await import('./workbench.ts')).tree }),
  },
  {
    name: 'identify',
    summary: { en: 'show the focused workspace and this pane', zh: '查看当前项以及此窗格' },
    examples: [{ line: 'svc identify --json', text: { en: 'for a program in a pane', zh: '供窗格中的程序使用' } }],
    load: async () => ({ run: (await import('./workbench.ts')).identify }),
  },
  events,
  {
    name: 'capabilities',
    summary: {
      en: 'the methods of the workbench, and which of them may move the focus',
      zh: '工作台的方法，以及其中哪些可以移动焦点',
    },
    examples: [{ line: 'svc capabilities', text: { en: 'list them', zh: '列出方法' } }],
    load: async () => ({ run: (await import('./workbench.ts')).capabilities }),
  },
  rpc,
]
