/** What was recorded: audit, ledger, turns, notify, report. */
import { defineFlag, defineText } from '../../command-table/define-option.ts'
import { defineCommand } from './define-command.ts'
import type { OperatorGroup } from './define-command.ts'
import { accountOption, limitOption, sinceOption } from './shared-options.ts'

const audit = defineCommand({
  name: 'audit',
  summary: { en: 'list security events, newest first', zh: '列出安全事件，最新的在前' },
  examples: [{ line: 'svc-gateway audit --account ann@example.com --since 7d' }],
  options: [
    accountOption,
    defineText('event <event>', {
      en: 'only these, such as signed_in or key_made',
      zh: '只列出此类事件，例如 signed_in 或 key_made',
    }),
    sinceOption,
    limitOption,
  ],
  load: async () => (await import('../commands/audit.ts')).audit,
})

const ledger: OperatorGroup = {
  name: 'ledger',
  summary: { en: 'check the ledger', zh: '检查账本' },
  examples: [{ line: 'svc-gateway ledger verify' }],
  commands: [
    defineCommand({
      name: 'verify',
      summary: {
        en: 'rebuild every balance from the entries; exit 1 on a mismatch',
        zh: '由分录重算所有余额；不一致时以 1 退出',
      },
      examples: [{ line: 'svc-gateway ledger verify' }],
      load: async () => (await import('../commands/ledger.ts')).verifyLedger,
    }),
  ],
}

const turns = defineCommand({
  name: 'turns',
  summary: { en: 'list turns, newest first', zh: '列出请求，最新的在前' },
  examples: [{ line: 'svc-gateway turns --since 1h' }],
  options: [
    accountOption,
    defineText('state <state>', { en: 'held, settled, refunded or expired', zh: 'held、settled、refunded 或 expired' }),
    defineText('model <product>', { en: 'product id', zh: '产品 ID' }),
    sinceOption,
    limitOption,
  ],
  load: async () => (await import('../commands/ledger.ts')).listTurns,
})

const notify: OperatorGroup = {
  name: 'notify',
  summary: { en: 'try receivers of notifications, and repeat deliveries', zh: '测试通知接收方，并重新投递' },
  examples: [{ line: 'svc-gateway notify test' }],
  commands: [
    defineCommand({
      name: 'test',
      summary: {
        en: 'send a test message to all receivers, or to one; exit 1 if one did not take it',
        zh: '向所有或一个接收方发送测试消息；有接收方未接受时以 1 退出',
      },
      examples: [{ line: 'svc-gateway notify test' }],
      arguments: [{ name: 'receiver', optional: true, summary: { en: 'its name', zh: '接收方名称' } }],
      load: async () => (await import('../commands/notify.ts')).testReceivers,
    }),
    defineCommand({
      name: 'list',
      summary: {
        en: 'list the receivers with what waits for them, and open incidents',
        zh: '列出接收方及待投递的消息，以及未解决的故障',
      },
      examples: [{ line: 'svc-gateway notify list' }],
      load: async () => (await import('../commands/notify.ts')).listReceivers,
    }),
    defineCommand({
      name: 'log',
      summary: { en: 'list deliveries, newest first', zh: '列出投递记录，最新的在前' },
      examples: [{ line: 'svc-gateway notify log --state failed' }],
      options: [
        defineText('receiver <name>', { en: 'only of this receiver', zh: '只列出该接收方' }),
        defineText('state <state>', { en: 'waiting, delivered or failed', zh: 'waiting、delivered 或 failed' }),
        limitOption,
      ],
      load: async () => (await import('../commands/notify.ts')).listDeliveries,
    }),
    defineCommand({
      name: 'redeliver',
      summary: { en: 'make deliveries again, under the same webhook-id', zh: '以相同的 webhook-id 重新投递' },
      examples: [{ line: 'svc-gateway notify redeliver --receiver hook' }],
      arguments: [{ name: 'ids', optional: true, variadic: true, summary: { en: 'ids of deliveries', zh: '投递记录的 ID' } }],
      options: [defineText('receiver <name>', { en: 'those of this receiver that have failed', zh: '该接收方所有失败的投递' })],
      load: async () => (await import('../commands/notify.ts')).redeliver,
    }),
    defineCommand({
      name: 'enable',
      summary: {
        en: 'switch a receiver on that was switched off after it failed for a day',
        zh: '重新启用因连续失败一天而停用的接收方',
      },
      examples: [{ line: 'svc-gateway notify enable hook' }],
      arguments: [{ name: 'receiver', summary: { en: 'its name', zh: '接收方名称' } }],
      load: async () => (await import('../commands/notify.ts')).enableReceiver,
    }),
  ],
}

const report = defineCommand({
  name: 'report',
  summary: {
    en: 'add up ended turns: tokens, credits, list price, cost of the upstreams and margin',
    zh: '汇总已结束的请求：token、点数、标价、上游成本和毛利',
  },
  examples: [
    { line: 'svc-gateway report --by product,upstream --from 30d' },
    { line: 'svc-gateway report --by account --csv > accounts.csv' },
  ],
  options: [
    defineText(
      'by <dimensions>',
      {
        en: 'account, product, plan, upstream, key, day, or several with commas between',
        zh: 'account、product、plan、upstream、key、day，可用逗号组合',
      },
      { defaultText: 'day' },
    ),
    defineText('from <when>', {
      en: 'only turns that began from then on: a date, or a span such as 30d',
      zh: '只含此后开始的请求：日期，或时长，例如 30d',
    }),
    defineText('to <when>', {
      en: 'only turns that began before: a date, or a span such as 1d',
      zh: '只含此前开始的请求：日期，或时长，例如 1d',
    }),
    defineFlag('csv', { en: 'print all rows as CSV', zh: '以 CSV 输出所有行' }),
    defineFlag('focus', {
      en: 'print CSV in the columns of the FinOps specification FOCUS 1.2',
      zh: '以 FinOps 规范 FOCUS 1.2 的列输出 CSV',
    }),
  ],
  load: async () => (await import('../commands/report/report.ts')).report,
})

export const recordCommands = [audit, ledger, turns, notify, report]
