/** Tries the next version on a copy of the data, beside the running service, which does not notice it. */
import { statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { evaluateConfig } from '../../../server/reload/evaluate-config.ts'
import type { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { OperatorError } from '../../../system/operator-error.ts'
import { parseJson } from '../../../system/parse-json.ts'
import { describeFailure } from './service-programs.ts'
import type { ProgramResult, ServicePrograms } from './service-programs.ts'

interface RehearsalOptions {
  readonly folder: DataFolder
  readonly programs: ServicePrograms
  /** The programs of the version that runs, and of the next one. */
  readonly from: string
  readonly to: string
  /** Whether findings of `doctor` only are reported. */
  readonly ignoreDoctor: boolean
  readonly say: (sentence: string) => void
}

const spareBytes = 64 * 1024 * 1024
const doctorSchema = z.object({ findings: z.array(z.object({ what: z.string(), ok: z.boolean(), detail: z.string() })) })

/**
 * Backs up with the running version, then restores, migrates, verifies and examines the copy with the next one.
 * @throws OperatorError; then nothing has changed
 */
export async function rehearseUpgrade(options: RehearsalOptions): Promise<void> {
  const { folder, programs, from, to, say } = options
  assertRoom(folder)
  const [place, data, copy] = [
    folder.upgradeRehearsal,
    join(folder.upgradeRehearsal, 'data'),
    join(folder.upgradeRehearsal, 'gateway.db'),
  ]
  const { values } = await evaluateConfig({ DATA_DIR: data })
  if (values.store.dataDir !== data)
    throw new OperatorError("The configuration ignores DATA_DIR: set store.dataDir to env.text('DATA_DIR', './data').")
  await programs.changeFiles('rm', '-rf', place)
  try {
    await programs.changeFiles('mkdir', '-m', '0700', place, data)
    say('Backing up the data, to try the new version on a copy.')
    assertSuccess('The backup failed', await programs.runCommand(from, ['backup', '--no-images', copy]))
    assertSuccess(
      'The new version cannot take over the data',
      await programs.runCommand(to, ['restore', copy], { DATA_DIR: data }),
    )
    say('The new version has taken over the copy; its doctor examines it.')
    examine(await programs.runCommand(to, ['doctor', '--json'], { DATA_DIR: data }), options)
  } finally {
    await programs.changeFiles('rm', '-rf', place)
  }
}

/** A copy, the data made of it, and later the copy that the start makes before it changes the layout. */
function assertRoom({ path, database }: DataFolder): void {
  const { bavail, bsize } = statfsSync(path)
  const neededBytes = 2 * statSync(database).size + spareBytes
  const toMebibytes = (bytes: number): number => Math.ceil(bytes / 1024 ** 2)
  if (bavail * bsize < neededBytes)
    throw new OperatorError(
      `${path} has ${toMebibytes(bavail * bsize)} MiB free, and the upgrade needs ${toMebibytes(neededBytes)} for copies of the database: make room. Nothing was changed.`,
    )
}

function assertSuccess(failure: string, result: ProgramResult): void {
  if (result.code !== 0) throw new OperatorError(`${failure}. Nothing was changed.\n${describeFailure(result)}`)
}

function examine(result: ProgramResult, { ignoreDoctor, say }: RehearsalOptions): void {
  let report: z.infer<typeof doctorSchema>
  try {
    report = doctorSchema.parse(parseJson(result.stdout))
  } catch (error) {
    throw new OperatorError(`The new version's doctor failed. Nothing was changed.\n${describeFailure(result)}`, { cause: error })
  }
  const failedFindings = report.findings.filter(({ ok }) => !ok).map(({ what, detail }) => `  ${what}: ${detail}`)
  if (failedFindings.length === 0) return
  if (!ignoreDoctor)
    throw new OperatorError(
      `The new version's doctor found faults. Nothing was changed. Correct them, or go on with --ignore-doctor.\n${failedFindings.join('\n')}`,
    )
  say(`The doctor found:\n${failedFindings.join('\n')}`)
}
