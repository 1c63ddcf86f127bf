/** The program `svc`: its commands, in the order of its help, and what its help and its manual page say beside them. */
import { defineFlag, defineNumber, defineText } from '../command-table/define-option.ts'
import type { Program } from './command.ts'
import { environmentVariables } from './environment-variables.ts'
import { exitCodes } from './exit-code.ts'
import { serviceCommands } from './service-commands/index.ts'
import { workbenchCommands } from './workbench-commands/index.ts'

export const svcProgram: Program = {
  name: 'svc',
  commands: [...serviceCommands, ...workbenchCommands],
  sections: [
    { title: { en: 'Ask a model:', zh: '使用模型：' }, commands: ['chat', 'search', 'image', 'models'] },
    {
      title: { en: 'Account:', zh: '账户：' },
      commands: ['login', 'logout', 'whoami', 'usage', 'alerts', 'plans', 'buy', 'orders', 'redeem', 'boost', 'keys', 'setup'],
    },
    {
      title: { en: 'Workbench:', zh: '工作台：' },
      commands: ['attach', 'workspace', 'pane', 'browser', 'ssh', 'files', 'notify', 'notification', 'tree', 'workbench'],
    },
    { title: { en: 'For scripts:', zh: '供脚本使用：' }, commands: ['identify', 'events', 'capabilities', 'rpc'] },
    { title: { en: 'This command:', zh: '命令自身：' }, commands: ['config', 'completion', 'man'] },
  ],
  examples: [
    { line: 'svc login', text: { en: 'sign in from this terminal', zh: '在终端中登录' } },
    { line: 'svc chat "Explain TCP slow start in two sentences"', text: { en: 'ask once', zh: '单次提问' } },
    { line: 'svc search "latest Node.js release"', text: { en: 'search the web', zh: '联网搜索' } },
  ],
  globalOptions: [
    defineFlag('json', { en: 'print JSON for programs', zh: '输出供程序使用的 JSON' }),
    defineFlag('quiet', { en: 'print only results and failures', zh: '只输出结果和错误' }, { short: 'q' }),
    defineFlag('verbose', { en: 'print details on standard error', zh: '在标准错误上输出更多信息' }, { short: 'v' }),
    defineNumber('timeout <seconds>', { en: 'how long to wait for an answer', zh: '等待响应的秒数' }),
    defineFlag('no-color', { en: 'no colours and no styles', zh: '不使用颜色和样式' }),
    defineText('socket <path>', { en: "the workbench's socket", zh: '工作台的套接字路径' }),
    defineFlag('no-start', { en: 'do not start the workbench when it is not running', zh: '工作台未运行时不自动启动' }),
  ],
  manual: {
    section: 1,
    summary: { en: 'the model service and the workbench from a terminal', zh: '在终端中使用模型服务与工作台' },
    exitCodes: Object.values(exitCodes),
    environment: environmentVariables,
    files: [
      {
        name: '$XDG_CONFIG_HOME/svc/credentials.json',
        summary: { en: 'sessions, one for each site, mode 0600', zh: '登录状态，每个站点一个，权限 0600' },
      },
      { name: '$XDG_CONFIG_HOME/svc/config.json', summary: { en: 'the settings of svc config', zh: 'svc config 的设置' } },
    ],
  },
}
