/** What members have: account, key, boost, rush. */
import type { Command } from 'commander'
import type { OutputOptions } from '../output.ts'
import { addJsonOption } from './command-group.ts'
import type { CollectOutput } from './command-group.ts'

export function addMemberCommands(program: Command, collectOutput: CollectOutput): void {
  const account = program.command('account').description('create and change accounts')
  addJsonOption(account.command('create').description('create an account'))
    .requiredOption('--email <address>', 'mail address')
    .option('--plan <plan>', 'plan of the configuration (default: its defaultPlan)')
    .option('--password <password>', 'password for the website')
    .action(
      collectOutput(async (options: OutputOptions & { email: string }) =>
        (await import('../commands/account.ts')).createAccount(options),
      ),
    )
  addJsonOption(account.command('list').description('list accounts, oldest first'))
    .option('--limit <n>', 'how many', '50')
    .option('--after <id>', 'only those after this id')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('../commands/account.ts')).listAccounts(options),
      ),
    )
  addJsonOption(account.command('show <account>').description('show an account with its pools and boosts')).action(
    collectOutput(async (id: string, options: OutputOptions) =>
      (await import('../commands/account.ts')).showAccount(id, options),
    ),
  )
  addJsonOption(account.command('set-plan <account>').description('change the plan; what was used stays used'))
    .requiredOption('--plan <plan>', 'plan of the configuration')
    .option('--until <when>', 'when it ends and the default plan comes back: a date, or a span such as 30d')
    .action(
      collectOutput(async (id: string, options: OutputOptions & { plan: string; until?: string }) =>
        (await import('../commands/account.ts')).setPlan(id, options),
      ),
    )
  addJsonOption(account.command('adjust <account>').description('correct credits; the reason is kept, and the member sees it'))
    .requiredOption('--credits <n>', 'credits to add, or with a minus to take')
    .requiredOption('--pool <pool>', 'fast or premium')
    .requiredOption('--reason <text>', 'why')
    .option('--expires <when>', 'when added credits expire: a date, or a span such as 30d', '365d')
    .action(
      collectOutput(
        async (id: string, options: OutputOptions & { credits: string; pool: string; reason: string; expires: string }) =>
          (await import('../commands/adjust.ts')).adjustCredits(id, options),
      ),
    )
  addJsonOption(account.command('set-email <account>').description('change the address; both addresses receive an email'))
    .requiredOption('--email <address>', 'the new mail address')
    .action(
      collectOutput(async (id: string, options: OutputOptions & { email: string }) =>
        (await import('../commands/account.ts')).setEmail(id, options),
      ),
    )
  addJsonOption(
    account
      .command('unlink-provider <id>')
      .description('let members of a sign-in provider link again, when its identities have changed'),
  )
    .option('--account <account>', 'id or mail address')
    .option('--all', 'all accounts that are linked to the provider')
    .action(
      collectOutput(async (provider: string, options: OutputOptions & { account?: string; all?: boolean }) =>
        (await import('../commands/account.ts')).unlinkProvider(provider, options),
      ),
    )
  addJsonOption(account.command('disable <account>').description('refuse its requests until it is enabled')).action(
    collectOutput(async (id: string, options: OutputOptions) =>
      (await import('../commands/account.ts')).setStatus(id, 'disabled', options),
    ),
  )
  addJsonOption(account.command('enable <account>').description('accept its requests again')).action(
    collectOutput(async (id: string, options: OutputOptions) =>
      (await import('../commands/account.ts')).setStatus(id, 'active', options),
    ),
  )
  addJsonOption(account.command('delete <account>').description('delete the personal data; the ledger stays'))
    .option('--yes', 'confirm the deletion')
    .action(
      collectOutput(async (id: string, options: OutputOptions & { yes?: boolean }) =>
        (await import('../commands/account.ts')).deleteAccount(id, options),
      ),
    )

  const key = program.command('key').description('create and revoke API keys')
  addJsonOption(key.command('create').description('create a key; it is shown once'))
    .requiredOption('--account <account>', 'id or mail address')
    .requiredOption('--name <name>', 'its purpose')
    .option('--expires-in-days <n>', 'days until it expires')
    .action(
      collectOutput(async (options: OutputOptions & { account: string; name: string }) =>
        (await import('../commands/key.ts')).createKey(options),
      ),
    )
  addJsonOption(key.command('list').description("list an account's keys"))
    .requiredOption('--account <account>', 'id or mail address')
    .action(
      collectOutput(async (options: OutputOptions & { account: string }) =>
        (await import('../commands/key.ts')).listKeys(options),
      ),
    )
  addJsonOption(key.command('revoke <key>').description('end a key')).action(
    collectOutput(async (id: string, options: OutputOptions) => (await import('../commands/key.ts')).revokeKey(id, options)),
  )

  const boost = program.command('boost').description('grant boost packs')
  addJsonOption(boost.command('grant').description('give an account a pack of credits'))
    .requiredOption('--account <account>', 'id or mail address')
    .requiredOption('--pool <pool>', 'fast or premium')
    .requiredOption('--credits <n>', 'a credit is a millionth of a dollar')
    .requiredOption('--expires <when>', 'a date, or a span such as 30d')
    .action(
      collectOutput(async (options: OutputOptions & { account: string; pool: string; credits: string; expires: string }) =>
        (await import('../commands/boost.ts')).grantBoost(options),
      ),
    )

  const rush = program.command('rush').description('boost packs for the first members who claim them')
  addJsonOption(rush.command('open').description('open a rush; one pack an account'))
    .requiredOption('--packs <n>', 'how many')
    .option('--credits <n>', 'of each pack (default: the configuration)')
    .option('--pool <pool>', 'fast or premium (default: the configuration)')
    .option('--starts <when>', 'a date, or a span such as 2h from now', 'now')
    .requiredOption('--ends <when>', 'a date, or a span such as 2h from now')
    .option('--allow-overlap', 'also where another rush runs at that time')
    .action(
      collectOutput(async (options: OutputOptions & { packs: string; starts: string; ends: string; allowOverlap?: true }) =>
        (await import('../commands/rush.ts')).createRush(options),
      ),
    )

  addJsonOption(rush.command('list').description('list rushes, newest first, with the packs left'))
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('../commands/rush.ts')).listRushes(options),
      ),
    )
  addJsonOption(rush.command('close <rush>').description('end a rush now; packs that were taken stay')).action(
    collectOutput(async (id: string, options: OutputOptions) => (await import('../commands/rush.ts')).closeRush(id, options)),
  )
}
