/** The server and its settings: start, init, check, doctor, reload, upgrade. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { InitOptions } from '../commands/init/init.ts'
import type { UpgradeOptions } from '../commands/upgrade/upgrade.ts'
import type { OutputOptions } from '../output.ts'
import { addJsonOption } from './command-group.ts'
import type { CollectOutput } from './command-group.ts'

export function addServerCommands(program: Command, collectOutput: CollectOutput): void {
  program
    .command('start', { isDefault: true })
    .description('run the server (the default)')
    .action(async () => (await import('../start.ts')).runServer())
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
    .option('--notify-mail <address>', 'send incidents to this address')
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
        const { openTerminalDialogue } = await import('../commands/init/terminal-dialogue.ts')
        const { stdin, stderr } = process
        const hasTerminal = stdin.isTTY && stderr.isTTY
        return (await import('../commands/init/init.ts')).init(options, hasTerminal ? async () => openTerminalDialogue() : null)
      }),
    )
  addJsonOption(program.command('check').description('check the configuration and report what follows from it')).action(
    collectOutput(async (options: OutputOptions) => (await import('../commands/check.ts')).check(options)),
  )
  addJsonOption(program.command('doctor').description('check everything that a server needs on this machine'))
    .option('--send-test-mail <address>', 'send a letter to this address')
    .option('--deep', 'also try one chat of one token with each upstream model, and a picture where a product is sold with them')
    .option('--from <url>', 'also send requests through this public address, and name missing lines of the proxies')
    .action(
      collectOutput(async (options: OutputOptions & { sendTestMail?: string; deep?: boolean; from?: string }) =>
        (await import('../commands/doctor/doctor.ts')).doctor(options),
      ),
    )

  addJsonOption(
    program.command('reload').description('let the running server read its configuration again, without a lost connection'),
  ).action(collectOutput(async (options: OutputOptions) => (await import('../commands/reload.ts')).reload(options)))

  const upgrading = program
    .command('upgrade')
    .description('replace the version that the service runs, or go back to the one before')
    .option('--to <release>', 'a tarball with SHA256SUMS beside it, or a version')
    .option('--sha256 <sum>', 'checksum of the tarball, in place of SHA256SUMS')
    .option('--releases <url>', 'address of the releases, where --to is a version (default: RELEASES_URL)')
    .option('--ignore-doctor', 'also where the doctor of the new version finds faults')
    .option('--has-backup', 'with PostgreSQL: you have a backup of your own')
    .option('--back', 'go back to the version before')
    .option('--lose-them', 'also where that loses what was recorded since')
    .addOption(new Option('--unless-served').hideHelp())
  addJsonOption(upgrading).action(
    collectOutput(async (options: UpgradeOptions) =>
      (await import('../commands/upgrade/upgrade.ts')).upgrade(options, process.stderr),
    ),
  )
}
