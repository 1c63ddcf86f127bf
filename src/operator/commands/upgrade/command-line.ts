/** The options of `svc-gateway upgrade`. */
import { Option } from 'commander'
import type { Command } from 'commander'

export function addUpgradeCommand(program: Command): Command {
  return program
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
}
