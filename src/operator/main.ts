/** `svc-gateway`: the operator's commands. Each is imported when it is used. */
import type { Command, HelpConfiguration } from 'commander'
import type { InitOptions } from './commands/init/init.ts'
import type { ReportOptions } from './commands/report/report.ts'
import type { UpgradeOptions } from './commands/upgrade/upgrade.ts'
import type { OutputOptions, CommandResult, StreamedResult } from './output.ts'

/** Exit code and output of a command. */
export interface CommandOutcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Takes a text that is too long for memory, in pieces. */
type WritePieces = (pieces: AsyncIterable<string>) => Promise<void>

const emptyOutcome: CommandOutcome = { code: 0, stdout: '', stderr: '' }

export async function main(argv: readonly string[]): Promise<void> {
  const words = argv.slice(2)
  // A plain start, by far the most frequent, needs no argument parser.
  const plain = words.length === 0 || (words.length === 1 && words[0] === 'start')
  // `svc-gateway turns | head -1`: a closed pipe is no failure, and a server must not end because its output cannot be written.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', plain ? () => undefined : ignoreClosedPipe)
  const { code, stdout, stderr } = await (plain ? start().then(() => emptyOutcome, toFailedOutcome) : run(words, writePieces))
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  if (code !== 0) process.exitCode = code
}

function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

async function writePieces(pieces: AsyncIterable<string>): Promise<void> {
  const { pipeline } = await import('node:stream/promises')
  try {
    await pipeline(pieces, process.stdout, { end: false })
  } catch (error) {
    ignoreClosedPipe(error as NodeJS.ErrnoException)
  }
}

/** Runs a command and returns its output, except for pieces that `write` takes; only a server that it starts keeps running and writes by itself. */
export async function run(words: readonly string[], write?: WritePieces): Promise<CommandOutcome> {
  const [word, ...options] = words
  if (word === '--version' || word === '-V') {
    const { printVersion } = await import('./commands/version.ts')
    return { ...emptyOutcome, stdout: printVersion({ json: options.includes('--json') }).text }
  }
  const { Command, CommanderError } = await import('commander')
  const { addUpgradeCommand } = await import('./commands/upgrade/command-line.ts')
  let [stdout, stderr] = ['', '']
  let ok = true
  const collectOutput =
    <Words extends readonly unknown[]>(command: (...words: Words) => Promise<CommandResult | StreamedResult>) =>
    async (...words: Words): Promise<void> => {
      const result = await command(...words)
      ok = result.ok
      if ('text' in result) stdout += result.text
      else if (write !== undefined) await write(result.pieces)
      else for await (const piece of result.pieces) stdout += piece
    }
  const program = new Command('svc-gateway')
    .description('Runs and looks after a membership and model API gateway.')
    .showHelpAfterError('(--help lists the commands and options)')
    .addHelpText('before', programExamples)
    .addHelpText('after', '\nMore about one command: svc-gateway <command> --help')
    .option('-V, --version', 'print the version and the commit')
  program
    .configureHelp(helpStyle)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (stdout += text),
      writeErr: (text) => void (stderr += text),
    })

  // `backup` has options and further commands: an option behind `backup list` belongs to that one.
  program.enablePositionalOptions()
  program.commandsGroup('Server:')
  program.command('start', { isDefault: true }).description('run the server (the default)').action(start)
  addJsonOption(
    program
      .command('init')
      .description(
        'ask for the settings of a new installation, or change them, check them and write its files; with answers as options it asks nothing',
      ),
  )
    .option('--folder <folder>', 'where the files are written (default: /etc/svc-gateway where it has a gateway.env, else .)')
    .option('--site-url <url>', 'public address of the website and the API')
    .option('--upstream-url <url>', "base URL of the upstream's API")
    .option('--upstream-key-file <file>', 'file with its key')
    .option('--smtp-url-file <file>', 'file with smtp://user:password@host:587')
    .option('--mail-from <sender>', 'sender of all emails')
    .option('--test-mail <address>', 'send a letter to this address')
    .option('--light-model <model>', 'model of the upstream for the tier light')
    .option('--flagship-model <model>', 'model of the upstream for the tier flagship')
    .option('--currency <code>', 'currency of the plans, such as USD')
    .option('--plans <plans>', 'plans with their price of a month, such as pro=9,max=19')
    .option('--issuer <url>', 'issuer of an OpenID Connect provider')
    .option('--provider-name <name>', 'its name on the button')
    .option('--client-id <id>', 'client id at the provider')
    .option('--client-secret-file <file>', 'file with the client secret')
    .action(
      collectOutput(async (options: InitOptions) => {
        const { openTerminalDialogue } = await import('./commands/init/terminal-dialogue.ts')
        const { stdin, stderr } = process
        const hasTerminal = stdin.isTTY && stderr.isTTY
        return (await import('./commands/init/init.ts')).init(options, hasTerminal ? async () => openTerminalDialogue() : null)
      }),
    )
  addJsonOption(program.command('check').description('check the configuration and report what follows from it')).action(
    collectOutput(async (options: OutputOptions) => (await import('./commands/check.ts')).check(options)),
  )
  addJsonOption(program.command('doctor').description('check everything that a server needs on this machine'))
    .option('--send-test-mail <address>', 'send a letter to this address')
    .option('--deep', 'also try one chat of one token with each upstream model, and a picture where a product is sold with them')
    .option('--from <url>', 'also send requests through this public address, and name missing lines of the proxies')
    .action(
      collectOutput(async (options: OutputOptions & { sendTestMail?: string; deep?: boolean; from?: string }) =>
        (await import('./commands/doctor.ts')).doctor(options),
      ),
    )

  addJsonOption(
    program.command('reload').description('let the running server read its configuration again, without a lost connection'),
  ).action(collectOutput(async (options: OutputOptions) => (await import('./commands/reload.ts')).reload(options)))

  const upgrading = addJsonOption(addUpgradeCommand(program))
  upgrading.action(
    collectOutput(async (options: UpgradeOptions) =>
      (await import('./commands/upgrade/upgrade.ts')).upgrade(options, process.stderr),
    ),
  )

  program.commandsGroup('Members:')
  const account = program.command('account').description('create and change accounts')
  addJsonOption(account.command('create').description('create an account'))
    .requiredOption('--email <address>', 'mail address')
    .option('--plan <plan>', 'plan of the configuration (default: its defaultPlan)')
    .option('--password <password>', 'password for the website')
    .action(
      collectOutput(async (options: OutputOptions & { email: string }) =>
        (await import('./commands/account.ts')).createAccount(options),
      ),
    )
  addJsonOption(account.command('list').description('list accounts, oldest first'))
    .option('--limit <n>', 'how many', '50')
    .option('--after <id>', 'only those after this id')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('./commands/account.ts')).listAccounts(options),
      ),
    )
  addJsonOption(account.command('show <account>').description('show an account with its pools and boosts')).action(
    collectOutput(async (id: string, options: OutputOptions) => (await import('./commands/account.ts')).showAccount(id, options)),
  )
  addJsonOption(account.command('set-plan <account>').description('change the plan; what was used stays used'))
    .requiredOption('--plan <plan>', 'plan of the configuration')
    .option('--until <when>', 'when it ends and the default plan comes back: a date, or a span such as 30d')
    .action(
      collectOutput(async (id: string, options: OutputOptions & { plan: string; until?: string }) =>
        (await import('./commands/account.ts')).setPlan(id, options),
      ),
    )
  addJsonOption(account.command('set-email <account>').description('change the address; both addresses receive an email'))
    .requiredOption('--email <address>', 'the new mail address')
    .action(
      collectOutput(async (id: string, options: OutputOptions & { email: string }) =>
        (await import('./commands/account.ts')).setEmail(id, options),
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
        (await import('./commands/account.ts')).unlinkProvider(provider, options),
      ),
    )
  addJsonOption(account.command('disable <account>').description('refuse its requests until it is enabled')).action(
    collectOutput(async (id: string, options: OutputOptions) =>
      (await import('./commands/account.ts')).setStatus(id, 'disabled', options),
    ),
  )
  addJsonOption(account.command('enable <account>').description('accept its requests again')).action(
    collectOutput(async (id: string, options: OutputOptions) =>
      (await import('./commands/account.ts')).setStatus(id, 'active', options),
    ),
  )
  addJsonOption(account.command('delete <account>').description('delete the personal data; the ledger stays'))
    .option('--yes', 'confirm the deletion')
    .action(
      collectOutput(async (id: string, options: OutputOptions & { yes?: boolean }) =>
        (await import('./commands/account.ts')).deleteAccount(id, options),
      ),
    )

  const key = program.command('key').description('create and revoke API keys')
  addJsonOption(key.command('create').description('create a key; it is shown once'))
    .requiredOption('--account <account>', 'id or mail address')
    .requiredOption('--name <name>', 'its purpose')
    .option('--expires-in-days <n>', 'days until it expires')
    .action(
      collectOutput(async (options: OutputOptions & { account: string; name: string }) =>
        (await import('./commands/key.ts')).createKey(options),
      ),
    )
  addJsonOption(key.command('list').description("list an account's keys"))
    .requiredOption('--account <account>', 'id or mail address')
    .action(
      collectOutput(async (options: OutputOptions & { account: string }) =>
        (await import('./commands/key.ts')).listKeys(options),
      ),
    )
  addJsonOption(key.command('revoke <key>').description('end a key')).action(
    collectOutput(async (id: string, options: OutputOptions) => (await import('./commands/key.ts')).revokeKey(id, options)),
  )

  const boost = program.command('boost').description('grant boost packs')
  addJsonOption(boost.command('grant').description('give an account a pack of credits'))
    .requiredOption('--account <account>', 'id or mail address')
    .requiredOption('--pool <pool>', 'fast or premium')
    .requiredOption('--credits <n>', 'a credit is a millionth of a dollar')
    .requiredOption('--expires <when>', 'a date, or a span such as 30d')
    .action(
      collectOutput(async (options: OutputOptions & { account: string; pool: string; credits: string; expires: string }) =>
        (await import('./commands/boost.ts')).grantBoost(options),
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
        (await import('./commands/rush.ts')).createRush(options),
      ),
    )

  addJsonOption(rush.command('list').description('list rushes, newest first, with the packs left'))
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('./commands/rush.ts')).listRushes(options),
      ),
    )
  addJsonOption(rush.command('close <rush>').description('end a rush now; packs that were taken stay')).action(
    collectOutput(async (id: string, options: OutputOptions) => (await import('./commands/rush.ts')).closeRush(id, options)),
  )

  program.commandsGroup('Records:')
  addJsonOption(program.command('audit').description('list security events, newest first'))
    .option('--account <account>', 'id or mail address')
    .option('--event <event>', 'only these, such as signed_in or key_made')
    .option('--since <when>', 'a date, or a span such as 1h')
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) => (await import('./commands/audit.ts')).audit(options)),
    )

  const ledger = program.command('ledger').description('check the ledger')
  addJsonOption(ledger.command('verify').description('rebuild every balance from the entries; exit 1 on a mismatch')).action(
    collectOutput(async (options: OutputOptions) => (await import('./commands/ledger.ts')).verifyLedger(options)),
  )
  addJsonOption(program.command('turns').description('list turns, newest first'))
    .option('--account <account>', 'id or mail address')
    .option('--state <state>', 'held, settled, refunded or expired')
    .option('--model <product>', 'product id')
    .option('--since <when>', 'a date, or a span such as 1h')
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('./commands/ledger.ts')).listTurns(options),
      ),
    )

  const notify = program.command('notify').description('try receivers of notifications, and repeat deliveries')
  addJsonOption(
    notify
      .command('test [receiver]')
      .description('send a test message to all receivers, or to one; exit 1 if one did not take it'),
  ).action(
    collectOutput(async (name: string | undefined, options: OutputOptions) =>
      (await import('./commands/notify.ts')).testReceivers(name, options),
    ),
  )
  addJsonOption(notify.command('list').description('list the receivers with what waits for them, and open incidents')).action(
    collectOutput(async (options: OutputOptions) => (await import('./commands/notify.ts')).listReceivers(options)),
  )
  addJsonOption(notify.command('log').description('list deliveries, newest first'))
    .option('--receiver <name>', 'only of this receiver')
    .option('--state <state>', 'waiting, delivered or failed')
    .option('--limit <n>', 'how many', '50')
    .action(
      collectOutput(async (options: OutputOptions & { limit: string }) =>
        (await import('./commands/notify.ts')).listDeliveries(options),
      ),
    )
  addJsonOption(notify.command('redeliver [ids...]').description('make deliveries again, under the same webhook-id'))
    .option('--receiver <name>', 'those of this receiver that have failed')
    .action(
      collectOutput(async (ids: readonly string[], options: OutputOptions & { receiver?: string }) =>
        (await import('./commands/notify.ts')).redeliver(ids, options),
      ),
    )
  addJsonOption(
    notify.command('enable <receiver>').description('switch a receiver on that was switched off after it failed for a day'),
  ).action(
    collectOutput(async (name: string, options: OutputOptions) =>
      (await import('./commands/notify.ts')).enableReceiver(name, options),
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
    .action(collectOutput(async (options: ReportOptions) => (await import('./commands/report/report.ts')).report(options)))

  program.commandsGroup('Data:')
  const backup = program.command('backup').enablePositionalOptions()
  addJsonOption(
    backup
      .argument('[file]', 'a new file; default: the storage of the setting backup')
      .description('write a verified copy of the database, with the secret and the images, also while the server runs'),
  )
    .option('--no-images', 'leave the images out')
    .action(
      collectOutput(async (file: string | undefined, options: OutputOptions & { images: boolean }) =>
        (await import('./commands/backup.ts')).backup(file, options),
      ),
    )
  addJsonOption(backup.command('list').description('list the verified backups in the storage, newest first')).action(
    collectOutput(async (options: OutputOptions) => (await import('./commands/stored-backups.ts')).listStoredBackups(options)),
  )
  addJsonOption(
    backup.command('drill').description('restore the newest backup of the storage into a temporary folder and verify it'),
  )
    .option('--in <folder>', 'existing folder for the temporary one (default: that of the system)')
    .option('--passphrase-file <file>', 'file with the passphrase (default: the configuration)')
    .action(
      collectOutput(async (options: OutputOptions & { in?: string; passphraseFile?: string }) =>
        (await import('./commands/stored-backups.ts')).drillBackup(options),
      ),
    )
  addJsonOption(
    program
      .command('restore <backup>')
      .description(
        'replace the database with a verified backup, with its secret, images and pending settlements: a file, a name in the storage, or latest',
      ),
  )
    .option('--yes', 'replace the existing database')
    .option('--passphrase-file <file>', 'file with the passphrase (default: the configuration)')
    .action(
      collectOutput(async (from: string, options: OutputOptions & { yes?: boolean; passphraseFile?: string }) =>
        (await import('./commands/backup.ts')).restore(from, options),
      ),
    )
  addJsonOption(
    program
      .command('migrate-store')
      .description('move the installation to an empty database on PostgreSQL, or back; run it again after an interruption'),
  )
    .option('--to <place>', 'postgres://user:password@host/database, or an empty folder (default: the data folder)')
    .option('--from <place>', 'the same, to move from (default: the data folder)')
    .action(
      collectOutput(async (options: OutputOptions & { from?: string; to?: string }) =>
        (await import('./commands/migrate-store.ts')).migrateStore(options, process.stderr),
      ),
    )

  const store = program.command('store').description('show the layout of the database, or confirm the database server')
  addJsonOption(
    store.command('show').description('show the layout of the database, and what going back to the copy before it would lose'),
  ).action(collectOutput(async (options: OutputOptions) => (await import('./commands/store.ts')).showStore(options)))
  addJsonOption(
    store
      .command('accept')
      .description('use the PostgreSQL server of STORE_URL in place of the one used before, as after a restore'),
  ).action(collectOutput(async (options: OutputOptions) => (await import('./commands/store.ts')).acceptStore(options)))

  try {
    await parseCommandLine(program, words)
    return { code: ok ? 0 : 1, stdout, stderr }
  } catch (error) {
    // commander has printed its usage errors already.
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, stdout, stderr }
    return toFailedOutcome(error)
  }
}

const programExamples = `Examples:
  svc-gateway doctor            check this machine
  svc-gateway turns --since 1h  list recent turns
  svc-gateway account create --email ann@example.com
      create an account
`

/** As `svc` shows its help: sentences, names without their arguments in lists, and text that wraps also on narrow terminals. */
const helpStyle: HelpConfiguration = {
  minWidthToWrap: 20,
  commandDescription: (command) =>
    `${command
      .description()
      .replace(/^./, (letter) => letter.toUpperCase())
      .replace(/\.$/, '')}.`,
  subcommandTerm: (command) => command.name(),
  visibleCommands: (command) => [...command.commands],
}

async function start(): Promise<void> {
  return (await import('./start.ts')).runServer()
}

/** With a default command, commander takes an unknown word for an argument of that command and reports too many arguments. */
async function parseCommandLine(program: Command, words: readonly string[]): Promise<void> {
  const [word] = words
  const known =
    word === undefined || word.startsWith('-') || word === 'help' || program.commands.some((one) => one.name() === word)
  if (!known) program.error(`error: unknown command '${word}'`, { exitCode: 2, code: 'commander.unknownCommand' })
  await program.parseAsync(words, { from: 'user' })
}

function addJsonOption(command: Command): Command {
  return command.option('--json', 'print one JSON document')
}

/** Expected errors are one sentence; only a bug prints its stack. */
async function toFailedOutcome(error: unknown): Promise<CommandOutcome> {
  const { CommandError } = await import('./installation.ts')
  const { ConfigError } = await import('../config/config.ts')
  const { OperatorError } = await import('../system/operator-error.ts')
  const { escapeUnprintable } = await import('./output.ts')
  const expected = error instanceof CommandError || error instanceof ConfigError || error instanceof OperatorError
  const message = expected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: 1, stdout: '', stderr: `${escapeUnprintable(message)}\n` }
}

if (import.meta.main) await main(process.argv)
