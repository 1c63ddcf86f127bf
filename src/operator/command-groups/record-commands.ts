/** What was recorded: audit, ledger, turns, notify, report. */
import type { Command } from 'commander'
import type { ReportOptions } from '../commands/report/report.ts'
import type { OutputOptions } from '../output.ts'
import { addJsonOption } from './command-group.ts'
import type { CollectOutput } from './command-group.ts'

export function addRecordCommands(program: Command, collectOutput: CollectOutput): void {
  addJsonOption(program.command('audit').description('list security events, newest first'))
    .option('--account <account>', 'id or mail address')
    .option('--event <event>', 'only these, such as signed_in or key_made')
    .option('--since <when>', 'a date, or a span such as 1h')
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) => (await import('../commands/audit.ts')).audit(options)),
    )

  const ledger = program.command('ledger').description('check the ledger')
  addJsonOption(ledger.command('verify').description('rebuild every balance from the entries; exit 1 on a mismatch')).action(
    collectOutput(async (options: OutputOptions) => (await import('../commands/ledger.ts')).verifyLedger(options)),
  )
  addJsonOption(program.command('turns').description('list turns, newest first'))
    .option('--account <account>', 'id or mail address')
    .option('--state <state>', 'held, settled, refunded or expired')
    .option('--model <product>', 'product id')
    .option('--since <when>', 'a date, or a span such as 1h')
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('../commands/ledger.ts')).listTurns(options),
      ),
    )

  const notify = program.command('notify').description('try receivers of notifications, and repeat deliveries')
  addJsonOption(
    notify
      .command('test [receiver]')
      .description('send a test message to all receivers, or to one; exit 1 if one did not take it'),
  ).action(
    collectOutput(async (name: string | undefined, options: OutputOptions) =>
      (await import('../commands/notify.ts')).testReceivers(name, options),
    ),
  )
  addJsonOption(notify.command('list').description('list the receivers with what waits for them, and open incidents')).action(
    collectOutput(async (options: OutputOptions) => (await import('../commands/notify.ts')).listReceivers(options)),
  )
  addJsonOption(notify.command('log').description('list deliveries, newest first'))
    .option('--receiver <name>', 'only of this receiver')
    .option('--state <state>', 'waiting, delivered or failed')
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('../commands/notify.ts')).listDeliveries(options),
      ),
    )
  addJsonOption(notify.command('redeliver [ids...]').description('make deliveries again, under the same webhook-id'))
    .option('--receiver <name>', 'those of this receiver that have failed')
    .action(
      collectOutput(async (ids: readonly string[], options: OutputOptions & { receiver?: string }) =>
        (await import('../commands/notify.ts')).redeliver(ids, options),
      ),
    )
  addJsonOption(
    notify.command('enable <receiver>').description('switch a receiver on that was switched off after it failed for a day'),
  ).action(
    collectOutput(async (name: string, options: OutputOptions) =>
      (await import('../commands/notify.ts')).enableReceiver(name, options),
    ),
  )
  addJsonOption(
    program.command('report').description('add up ended turns: tokens, credits, list price, cost of the upstreams and margin'),
  )
    .option('--by <dimensions>', 'account, product, plan, upstream, key, day, or several with commas between (default: day)')
    .option('--from <when>', 'only turns that began from then on: a date, or a span such as 30d')
    .option('--to <when>', 'only turns that began before: a date, or a span such as 1d')
    .option('--csv', 'print all rows as CSV')
    .option('--focus', 'print CSV in the columns of the FinOps specification FOCUS 1.2')
    .action(collectOutput(async (options: ReportOptions) => (await import('../commands/report/report.ts')).report(options)))
}
