/** The program `svc-gateway`: its commands, in the order of its help, and what its help and its manual page say beside them. */
import { createCompletionEntry, createManEntry } from '../command-table/program-entries.ts'
import { accountCommands } from './command-groups/account-commands.ts'
import { dataCommands } from './command-groups/data-commands.ts'
import { defineCommand } from './command-groups/define-command.ts'
import type { OperatorProgram } from './command-groups/define-command.ts'
import { boostCommands, keyCommands, rushCommands } from './command-groups/member-commands.ts'
import { noticeCommands } from './command-groups/notice-commands.ts'
import { orderCommands } from './command-groups/order-commands.ts'
import { codeCommands, planCommands } from './command-groups/plan-commands.ts'
import { recordCommands } from './command-groups/record-commands.ts'
import { serverCommands } from './command-groups/server-commands.ts'

const name = 'svc-gateway'

const completion = defineCommand({
  ...createCompletionEntry(name),
  load: async () => (await import('./commands/program-texts.ts')).printCompletionScript,
})

const man = defineCommand({
  ...createManEntry(name),
  load: async () => (await import('./commands/program-texts.ts')).printManPage,
})

const sections = [
  { title: { en: 'Server:', zh: '服务器：' }, commands: serverCommands },
  {
    title: { en: 'Members:', zh: '会员：' },
    commands: [accountCommands, keyCommands, boostCommands, rushCommands, noticeCommands],
  },
  { title: { en: 'Sales:', zh: '销售：' }, commands: [planCommands, codeCommands, orderCommands] },
  { title: { en: 'Records:', zh: '记录：' }, commands: recordCommands },
  { title: { en: 'Data:', zh: '数据：' }, commands: dataCommands },
  { title: { en: 'This command:', zh: '命令自身：' }, commands: [completion, man] },
]

export const operatorProgram: OperatorProgram = {
  name,
  commands: sections.flatMap(({ commands }) => commands),
  sections: sections.map(({ title, commands }) => ({ title, commands: commands.map((command) => command.name) })),
  examples: [
    { line: 'svc-gateway doctor', text: { en: 'check this machine', zh: '检查本机' } },
    { line: 'svc-gateway turns --since 1h', text: { en: 'list recent turns', zh: '列出最近的请求' } },
    { line: 'svc-gateway account create --email ann@example.com', text: { en: 'create an account', zh: '创建账户' } },
  ],
  globalOptions: [{ name: 'json', kind: 'flag', summary: { en: 'print one JSON document', zh: '输出一个 JSON 文档' } }],
  manual: {
    section: 8,
    summary: { en: 'run and look after a membership and model API gateway', zh: '运行和管理会员与模型 API 网关' },
    exitCodes: [
      { code: 0, en: 'done', zh: '成功' },
      { code: 1, en: 'failed, or a check found a fault', zh: '失败，或检查发现问题' },
      { code: 2, en: 'the command line is wrong', zh: '命令行用法错误' },
    ],
    environment: [
      {
        name: 'GATEWAY_CONFIG',
        summary: { en: 'the configuration file; default gateway.config.ts', zh: '配置文件；默认 gateway.config.ts' },
      },
      { name: 'DATA_DIR', summary: { en: 'the data folder of the shipped configuration', zh: '自带配置的数据文件夹' } },
      { name: 'STORE_URL', summary: { en: 'the PostgreSQL database, where there is one', zh: 'PostgreSQL 数据库（如使用）' } },
      {
        name: 'SVC_LANG',
        summary: { en: "en or zh; default by the locale's variables", zh: 'en 或 zh；默认取决于系统语言环境' },
      },
    ],
    files: [
      { name: '/etc/svc-gateway/gateway.env', summary: { en: "the service's environment", zh: '服务的环境变量' } },
      { name: '/var/lib/svc-gateway', summary: { en: "the service's data folder", zh: '服务的数据文件夹' } },
    ],
  },
}
