/** What is sold: plans with their terms, and codes. */
import type { Command } from 'commander'
import type { OutputOptions } from '../output.ts'
import type { CreateCodeOptions } from '../commands/code.ts'
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

  const code = program.command('code').description('codes that members redeem for a plan or for credits')
  addJsonOption(code.command('create').description('create codes; they are shown once'))
    .option('--plan <plan>', 'plan of the configuration, whose terms of now the code keeps')
    .option('--for <span>', 'how long the plan lasts: 30d, 1mo or 1y')
    .option('--credits <n>', 'credits instead of a plan; a credit is a millionth of a dollar')
    .option('--pool <pool>', 'fast or premium')
    .option('--days <n>', 'days until the credits expire (default: 365)')
    .option('--count <n>', 'how many codes', '1')
    .option('--uses <n>', 'how many accounts can redeem each code, once each', '1')
    .option('--expires <when>', 'until when they can be redeemed: a date, or a span such as 30d')
    .option('--batch <name>', 'a name by which to list and revoke them')
    .option('--csv', 'print CSV with links')
    .action(collectOutput(async (options: CreateCodeOptions) => (await import('../commands/code.ts')).createRedeemCodes(options)))
  addJsonOption(code.command('list').description('list codes, oldest first, without the codes themselves'))
    .option('--batch <name>', 'only those of a batch')
    .option('--prefix <characters>', 'only those that begin with these four characters')
    .option('--limit <n>', 'how many', '50')
    .option('--after <id>', 'only those after this id')
    .action(
      collectOutput(async (options: OutputOptions & { batch?: string; prefix?: string; after?: string; limit: string }) =>
        (await import('../commands/code.ts')).listRedeemCodes(options),
      ),
    )
  addJsonOption(
    code.command('show <code>').description('show a code by its id, first characters or whole, and who redeemed it'),
  ).action(
    collectOutput(async (name: string, options: OutputOptions) =>
      (await import('../commands/code.ts')).showRedeemCode(name, options),
    ),
  )
  addJsonOption(code.command('revoke [code]').description('refuse codes from now on; what was redeemed stays'))
    .option('--batch <name>', 'all of a batch')
    .option('--prefix <characters>', 'all that begin with these four characters')
    .action(
      collectOutput(async (name: string | undefined, options: OutputOptions & { batch?: string; prefix?: string }) =>
        (await import('../commands/code.ts')).revokeRedeemCodes(name, options),
      ),
    )
}
