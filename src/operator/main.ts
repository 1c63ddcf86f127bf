/** `svc-gateway`: the operator's commands. Each is imported when it is asked for. */
import type { Command } from 'commander'
import type { Output, Said } from './output.ts'

/** How a command ended, and what it said. */
export interface Ended {
  readonly code: number
  readonly output: string
  readonly complaint: string
}

const silence: Ended = { code: 0, output: '', complaint: '' }

export async function main(argv: readonly string[]): Promise<void> {
  const words = argv.slice(2)
  // The plain start, which is nearly every one, does without the parser of the other commands.
  const plain = words.length === 0 || (words.length === 1 && words[0] === 'start')
  // `svc-gateway turns | head -1`: a reader that went away is no failure. A server must not end of what it cannot say, whatever the reason.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', plain ? () => undefined : ignoreGoneReader)
  const { code, output, complaint } = await (plain ? start().then(() => silence, failed) : run(words))
  process.stdout.write(output)
  process.stderr.write(complaint)
  if (code !== 0) process.exitCode = code
}

function ignoreGoneReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** Runs a command, which says nothing by itself; only a server that it starts stays, and speaks. */
export async function run(words: readonly string[]): Promise<Ended> {
  const { Command, CommanderError } = await import('commander')
  let [output, complaint] = ['', '']
  let ok = true
  const says =
    <Words extends readonly unknown[]>(command: (...words: Words) => Promise<Said>) =>
    async (...words: Words): Promise<void> => {
      const said = await command(...words)
      output += said.text
      ok = said.ok
    }
  const program = new Command('svc-gateway')
    .description('Runs and looks after a membership and model API gateway.')
    .showHelpAfterError('(--help shows what there is)')
  program.exitOverride().configureOutput({
    writeOut: (text) => void (output += text),
    writeErr: (text) => void (complaint += text),
  })

  program.command('start', { isDefault: true }).description('run the server (the default)').action(start)
  json(program.command('check').description('check the configuration and say what it amounts to')).action(
    says(async (options: Output) => (await import('./check.ts')).check(options)),
  )
  json(program.command('doctor').description('try everything a server needs here'))
    .option('--send-test-mail <address>', 'send a letter to this address')
    .action(says(async (options: Output & { sendTestMail?: string }) => (await import('./doctor.ts')).doctor(options)))

  const account = program.command('account').description('make and change accounts')
  json(account.command('create').description('make an account'))
    .requiredOption('--email <address>', 'mail address')
    .option('--plan <plan>', 'plan of the configuration (default: its defaultPlan)')
    .option('--password <password>', 'password for the website')
    .action(says(async (options: Output & { email: string }) => (await import('./account.ts')).createAccount(options)))
  json(account.command('list').description('list accounts, oldest first'))
    .option('--limit <n>', 'how many', '50')
    .option('--after <id>', 'only those after this id')
    .action(says(async (options: Output & { limit: string }) => (await import('./account.ts')).listAccounts(options)))
  json(account.command('show <account>').description('an account with its pools and boosts')).action(
    says(async (id: string, options: Output) => (await import('./account.ts')).showAccount(id, options)),
  )
  json(account.command('set-plan <account>').description('change the plan; what was used stays used'))
    .requiredOption('--plan <plan>', 'plan of the configuration')
    .option('--until <when>', 'when it ends and the default plan comes back: a date, or a span such as 30d')
    .action(
      says(async (id: string, options: Output & { plan: string; until?: string }) =>
        (await import('./account.ts')).setPlan(id, options),
      ),
    )
  json(account.command('disable <account>').description('let nothing of it in until it is enabled')).action(
    says(async (id: string, options: Output) => (await import('./account.ts')).setStatus(id, 'disabled', options)),
  )
  json(account.command('enable <account>').description('let it in again')).action(
    says(async (id: string, options: Output) => (await import('./account.ts')).setStatus(id, 'active', options)),
  )
  json(account.command('delete <account>').description('forget the person; the ledger stays'))
    .option('--yes', 'yes, I mean it')
    .action(
      says(async (id: string, options: Output & { yes?: boolean }) => (await import('./account.ts')).deleteAccount(id, options)),
    )

  const key = program.command('key').description('make and revoke API keys')
  json(key.command('create').description('make a key; it is shown once'))
    .requiredOption('--account <account>', 'id or mail address')
    .requiredOption('--name <name>', 'what it is for')
    .option('--expires-in-days <n>', 'when it ends by itself')
    .action(says(async (options: Output & { account: string; name: string }) => (await import('./key.ts')).createKey(options)))
  json(key.command('list').description("an account's keys"))
    .requiredOption('--account <account>', 'id or mail address')
    .action(says(async (options: Output & { account: string }) => (await import('./key.ts')).listKeys(options)))
  json(key.command('revoke <key>').description('end a key')).action(
    says(async (id: string, options: Output) => (await import('./key.ts')).revokeKey(id, options)),
  )

  const boost = program.command('boost').description('boost packs')
  json(boost.command('grant').description('give an account a pack of credits'))
    .requiredOption('--account <account>', 'id or mail address')
    .requiredOption('--tier <pool>', 'fast or premium')
    .requiredOption('--credits <n>', 'a credit is a millionth of a dollar')
    .requiredOption('--expires <when>', 'a date, or a span such as 30d')
    .action(
      says(async (options: Output & { account: string; tier: string; credits: string; expires: string }) =>
        (await import('./boost.ts')).grantBoost(options),
      ),
    )

  const rush = program.command('rush').description('boosts for whoever comes first')
  json(rush.command('open').description('open a rush; one pack an account'))
    .requiredOption('--packs <n>', 'how many')
    .option('--credits <n>', 'of each pack (default: the configuration)')
    .option('--tier <pool>', 'fast or premium (default: the configuration)')
    .option('--starts <when>', 'a date, or a span such as 2h from now', 'now')
    .requiredOption('--ends <when>', 'a date, or a span such as 2h from now')
    .option('--beside', 'also where another one runs at that time')
    .action(
      says(async (options: Output & { packs: string; starts: string; ends: string; beside?: true }) =>
        (await import('./rush.ts')).open(options),
      ),
    )

  json(rush.command('list').description('rushes, newest first, with what is left of them'))
    .option('--limit <n>', 'how many', '50')
    .action(says(async (options: Output & { limit: string }) => (await import('./rush.ts')).list(options)))
  json(rush.command('close <rush>').description('end a rush now; packs that were taken stay')).action(
    says(async (id: string, options: Output) => (await import('./rush.ts')).close(id, options)),
  )

  json(program.command('audit').description('security events, newest first'))
    .option('--account <account>', 'id or mail address')
    .option('--event <event>', 'only these, such as signed_in or key_made')
    .option('--since <when>', 'a date, or a span such as 1h')
    .option('--limit <n>', 'how many', '50')
    .action(says(async (options: Output & { limit: string }) => (await import('./audit.ts')).audit(options)))

  const ledger = program.command('ledger').description('the money')
  json(ledger.command('verify').description('rebuild every balance from the entries; exit 1 on a mismatch')).action(
    says(async (options: Output) => (await import('./ledger.ts')).verifyLedger(options)),
  )
  json(program.command('turns').description('the log of turns, newest first'))
    .option('--account <account>', 'id or mail address')
    .option('--state <state>', 'held, settled, refunded or expired')
    .option('--model <product>', 'product id')
    .option('--since <when>', 'a date, or a span such as 1h')
    .option('--limit <n>', 'how many', '50')
    .action(says(async (options: Output & { limit: string }) => (await import('./ledger.ts')).listTurns(options)))

  json(
    program
      .command('backup <file>')
      .description('write a verified copy of the database, with the secret and the images beside it, also while the server runs'),
  )
    .option('--no-images', 'leave the images out')
    .action(
      says(async (file: string, options: Output & { images: boolean }) => (await import('./backup.ts')).backup(file, options)),
    )
  json(program.command('restore <file>').description('put a verified backup in place of the database, with what lies beside it'))
    .option('--yes', 'yes, replace the one that is there')
    .action(
      says(async (file: string, options: Output & { yes?: boolean }) => (await import('./backup.ts')).restore(file, options)),
    )
  json(
    program
      .command('migrate-store')
      .description(
        'take the installation over into an empty database on PostgreSQL, or back; run it again where it was interrupted',
      ),
  )
    .option('--to <place>', 'postgres://user:password@host/database, or an empty folder (default: the data folder)')
    .option('--from <place>', 'the same, to move from (default: the data folder)')
    .action(
      says(async (options: Output & { from?: string; to?: string }) =>
        (await import('./migrate-store.ts')).migrateStore(options, process.stderr),
      ),
    )

  try {
    await parse(program, words)
    return { code: ok ? 0 : 1, output, complaint }
  } catch (error) {
    // Usage errors are commander's, which has told them.
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, output, complaint }
    return failed(error)
  }
}

async function start(): Promise<void> {
  return (await import('../main.ts')).serve()
}

/** With a default command commander takes a word it does not know for an argument of that one, and complains of too many. */
async function parse(program: Command, words: readonly string[]): Promise<void> {
  const [word] = words
  const known =
    word === undefined || word.startsWith('-') || word === 'help' || program.commands.some((one) => one.name() === word)
  if (!known) program.error(`error: unknown command '${word}'`, { exitCode: 2, code: 'commander.unknownCommand' })
  await program.parseAsync(words, { from: 'user' })
}

function json(command: Command): Command {
  return command.option('--json', 'print one JSON document', false)
}

/** What an operator should know is one sentence; only a bug shows its stack. */
async function failed(error: unknown): Promise<Ended> {
  const { CommandError } = await import('./installation.ts')
  const { ConfigError } = await import('../config/config.ts')
  const { Unusable } = await import('../system/unusable.ts')
  const expected = error instanceof CommandError || error instanceof ConfigError || error instanceof Unusable
  const why = expected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: 1, output: '', complaint: `${why}\n` }
}

if (import.meta.main) await main(process.argv)
