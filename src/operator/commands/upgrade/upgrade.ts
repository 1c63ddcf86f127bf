/** `svc-gateway upgrade --to` and `svc-gateway upgrade --back`: replaces the version that the service runs. */
import { env, loadConfig } from '../../../config/config.ts'
import { ServerLock } from '../../../store/sqlite/process/server-lock.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { findFolderOwner } from '../../../system/data-folder/folder-owner.ts'
import { OperatorError } from '../../../system/operator-error.ts'
import { CommandError } from '../../installation.ts'
import { formatMoment, pluralize, renderResult } from '../../output.ts'
import type { CommandResult, OutputOptions } from '../../output.ts'
import { describeData, goBack } from './go-back.ts'
import type { GoBackOutcome, LaterRecords, UpgradeContext } from './go-back.ts'
import { installRelease } from './install-release.ts'
import { InstalledVersions } from './installed-versions.ts'
import { rehearseUpgrade } from './rehearse-upgrade.ts'
import { ServicePrograms, controlService, describeFailure } from './service-programs.ts'

export interface UpgradeOptions extends OutputOptions {
  readonly to?: string
  readonly sha256?: string
  readonly releases?: string
  readonly ignoreDoctor?: boolean
  readonly hasBackup?: boolean
  readonly back?: boolean
  readonly loseThem?: boolean
  /** Given by svc-gateway-upgrade-back.service. */
  readonly unlessServed?: boolean
}

export async function upgrade(options: UpgradeOptions, screen: { write(text: string): unknown }): Promise<CommandResult> {
  if ((options.to === undefined) === (options.back !== true))
    throw new CommandError('Name what to do: --to <tarball or version>, or --back.')
  if (process.getuid?.() !== 0) throw new CommandError('Run it as root: it replaces the program of the service.')
  const versions = new InstalledVersions()
  const { store } = await loadConfig()
  const folder = new DataFolder(store.dataDir)
  if (store.url === null && !folder.hasDatabase())
    throw new CommandError(
      `There is no database in ${folder.path}. Run it with the settings of the service: /usr/local/sbin/svc-gateway upgrade`,
    )
  const context: UpgradeContext = {
    versions,
    folder,
    programs: new ServicePrograms({ owner: findFolderOwner(folder.path), dataDir: folder.path }),
    say: (sentence) => void screen.write(`${sentence}\n`),
  }
  const lock = acquireLock(versions)
  try {
    if (options.to !== undefined) return await upgradeTo(options.to, options, { context, usesFile: store.url === null })
    const rule = options.unlessServed === true ? 'unlessServed' : options.loseThem === true ? 'loseThem' : 'loseNothing'
    return renderOutcome(await goBack(context, rule), options)
  } finally {
    lock.release()
  }
}

function acquireLock({ staging }: InstalledVersions): ServerLock {
  try {
    return ServerLock.acquire(staging, process.pid, systemClock.now())
  } catch (error) {
    throw new CommandError('Another upgrade runs at this moment.', { cause: error })
  }
}

async function upgradeTo(
  wanted: string,
  options: UpgradeOptions,
  { context, usesFile }: { readonly context: UpgradeContext; readonly usesFile: boolean },
): Promise<CommandResult> {
  const { versions, programs, folder, say } = context
  if (!usesFile && options.hasBackup !== true)
    throw new CommandError(
      'The store is a PostgreSQL database (STORE_URL): back it up with its own tools, as docs/operations.md says, and run this again with --has-backup.',
    )
  const source = { to: wanted, sha256: options.sha256, releases: options.releases ?? env.text('RELEASES_URL') }
  const to = await installRelease(source, versions)
  const from = versions.current
  if (to === from && !versions.isUnfinished)
    return renderResult(options, { ok: true, from, to }, () => `${to} is the version that runs. Nothing was changed.`)
  if (to !== from) {
    if (usesFile)
      await rehearseUpgrade({
        folder,
        programs,
        from: versions.getProgram(from),
        to: versions.getProgram(to),
        ignoreDoctor: options.ignoreDoctor === true,
        say,
      })
    else {
      const checkResult = await programs.runCommand(versions.getProgram(to), ['check'])
      if (checkResult.code !== 0)
        throw new OperatorError(
          `The new version cannot use the configuration. Nothing was changed.\n${describeFailure(checkResult)}`,
        )
    }
    const layout = usesFile ? (await describeData(context)).layout : null
    await programs.changeFiles('rm', '-f', folder.hasServed)
    versions.begin({ from, to, layout })
    versions.switchTo(to)
  }
  say(`Restarting the service with ${to}; running turns may finish.`)
  const { isDone } = await controlService('restart')
  if (!isDone) {
    say(`${to} did not become ready.`)
    return renderOutcome(await goBack(context, 'unlessServed'), options, 'upgrade')
  }
  versions.finish()
  return renderResult(options, { ok: true, from: versions.readRecord()?.from ?? from, to }, () =>
    [`${to} runs. The way back: svc-gateway upgrade --back`].join('\n'),
  )
}

/** @param during `upgrade`: the way back was taken because the new version failed, so the command has failed */
function renderOutcome(outcome: GoBackOutcome, options: UpgradeOptions, during: 'back' | 'upgrade' = 'back'): CommandResult {
  switch (outcome.kind) {
    case 'back': {
      const { from, to, lost } = outcome
      const isOk = during === 'back'
      return renderResult(
        options,
        { ok: isOk, from, to, lost },
        () =>
          isOk
            ? `${to} runs again.${lost === null ? ' Nothing was lost.' : ` Lost: ${describeRecords(lost)}.`}`
            : `${to} runs again, with all its data: ${from} had sold nothing. See why ${from} failed: journalctl --unit svc-gateway`,
        isOk,
      )
    }
    case 'loses': {
      const { from, to, since, lost } = outcome
      const refusal = { ok: false, from, to, since: new Date(since).toISOString(), wouldLose: lost }
      return renderResult(
        options,
        refusal,
        () =>
          `${from} has changed the layout of the data, so ${to} needs the copy of ${formatMoment(since, systemClock.now())}. Lost would be what was recorded since: ${describeRecords(lost)}, with every other change since, such as keys and passwords. Nothing was changed. To lose them: svc-gateway upgrade --back --lose-them`,
        false,
      )
    }
    case 'served':
      return renderResult(
        options,
        { ok: false, version: outcome.version },
        () =>
          `${outcome.version} has accepted requests and may have sold turns, so nothing was taken back. See journalctl --unit svc-gateway; svc-gateway upgrade --back says what going back would lose.`,
        false,
      )
  }
}

function describeRecords({ turns, accounts, packs }: LaterRecords): string {
  return `${pluralize(turns, 'turn')}, ${pluralize(accounts, 'account')} and ${pluralize(packs, 'boost pack')}`
}
