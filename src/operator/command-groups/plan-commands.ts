/** What is sold: plans with their terms. */
import type { Command } from 'commander'
import type { OutputOptions } from '../output.ts'
import { addJsonOption } from './command-group.ts'
import type { CollectOutput } from './command-group.ts'

export function addPlanCommands(program: Command, collectOutput: CollectOutput): void {
  const plan = program.command('plan').description('the terms that members have, and their subscriptions')
  addJsonOption(plan.command('list').description('list plans and terms with the number of subscribers')).action(
    collectOutput(async (options: OutputOptions) => (await import('../commands/plan.ts')).listPlans(options)),
  )
  addJsonOption(plan.command('move').description('move the subscriptions of some terms to others'))
    .requiredOption('--from <terms>', 'terms such as pro@2')
    .requiredOption('--to <terms>', "terms such as pro@3, or a plan's id for what the configuration gives now")
    .option('--at <when>', 'renewal, or now where the new terms give no less', 'renewal')
    .option('--reason <text>', 'allows less now; members see it')
    .option('--dry-run', 'only report what would change')
    .action(
      collectOutput(async (options: OutputOptions & { from: string; to: string; at: string; dryRun?: true; reason?: string }) =>
        (await import('../commands/plan.ts')).movePlan(options),
      ),
    )
  addJsonOption(plan.command('end <subscription>').description('end a subscription before its end; the next one begins'))
    .requiredOption('--reason <text>', 'why; the member sees it')
    .action(
      collectOutput(async (id: string, options: OutputOptions & { reason: string }) =>
        (await import('../commands/plan.ts')).endSubscription(id, options),
      ),
    )
}
