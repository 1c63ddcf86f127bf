/** Goes back to the version before the last upgrade, with its data where the upgrade has changed their layout. */
import { lstatSync } from 'node:fs'
import { z } from 'zod'
import type { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { OperatorError } from '../../../system/operator-error.ts'
import { parseJson } from '../../../system/parse-json.ts'
import type { InstalledVersions } from './installed-versions.ts'
import { controlService, describeFailure } from './service-programs.ts'
import type { ServicePrograms } from './service-programs.ts'

export interface UpgradeContext {
  readonly versions: InstalledVersions
  readonly programs: ServicePrograms
  readonly folder: DataFolder
  readonly say: (sentence: string) => void
}

const recordsSchema = z.object({ turns: z.number(), accounts: z.number(), packs: z.number() })
const dataSchema = z.object({
  layout: z.array(z.string()),
  copies: z.array(z.object({ file: z.string(), layout: z.array(z.string()), at: z.number(), laterRecords: recordsSchema })),
})

type DataDescription = z.infer<typeof dataSchema>
export type LaterRecords = z.infer<typeof recordsSchema>

export type GoBackOutcome =
  | { readonly kind: 'back'; readonly from: string; readonly to: string; readonly lost: LaterRecords | null }
  /** Nothing has changed: these records would be lost. */
  | { readonly kind: 'loses'; readonly from: string; readonly to: string; readonly since: number; readonly lost: LaterRecords }
  /** Nothing has changed: the new version has accepted requests, so it may have sold something. */
  | { readonly kind: 'served'; readonly version: string }

/** What the database and the copy from before the last change of its layout have; read as the service's user. */
export async function describeData({ versions, programs }: UpgradeContext): Promise<DataDescription> {
  const result = await programs.runCommand(versions.getProgram(versions.ownVersion), ['store', 'show', '--json'])
  if (result.code !== 0) throw new OperatorError(`The database cannot be read:\n${describeFailure(result)}`)
  return dataSchema.parse(parseJson(result.stdout))
}

/** Whether a server has accepted requests since the last upgrade. */
export function hasServed({ folder }: UpgradeContext): boolean {
  return lstatSync(folder.hasServed, { throwIfNoEntry: false }) !== undefined
}

/**
 * @param rule `unlessServed`: only where the new version has never accepted requests; `loseNothing`: only where the layout is unchanged;
 * `loseThem`: whatever was recorded since
 * @throws OperatorError where it is not possible; then the new version is started again
 */
export async function goBack(context: UpgradeContext, rule: 'unlessServed' | 'loseNothing' | 'loseThem'): Promise<GoBackOutcome> {
  const { versions } = context
  const record = versions.readRecord()
  if (record === null) throw new OperatorError('There is no version to go back to: no upgrade was made since the last one.')
  const { from, to, layout } = record
  if (!versions.has(from)) throw new OperatorError(`${from} is no longer in ${versions.root}.`)
  if (rule === 'unlessServed' && hasServed(context)) {
    versions.finish()
    return { kind: 'served', version: to }
  }
  const data: RestoredLayout = layout === null ? { kind: 'unchanged' } : await restoreLayout(context, { from, layout, rule })
  if (data.kind === 'served') return { kind: 'served', version: to }
  if (data.kind === 'loses') return { ...data, from: to, to: from }
  versions.switchTo(from)
  // Where systemd has given up, it refuses further starts.
  await controlService('reset-failed')
  const { isDone } = await controlService('restart')
  if (!isDone) throw new OperatorError(`${from} is back and does not become ready either. See: journalctl --unit svc-gateway`)
  versions.forget()
  return { kind: 'back', from: to, to: from, lost: data.kind === 'restored' ? data.lost : null }
}

interface LayoutToRestore {
  readonly from: string
  readonly layout: readonly string[]
  readonly rule: 'unlessServed' | 'loseNothing' | 'loseThem'
}

type RestoredLayout =
  | { readonly kind: 'unchanged' | 'served' }
  | { readonly kind: 'loses'; readonly since: number; readonly lost: LaterRecords }
  | { readonly kind: 'restored'; readonly lost: LaterRecords }

/** Stops the service and restores the copy, where the layout is not what it was. */
async function restoreLayout(context: UpgradeContext, { from, layout, rule }: LayoutToRestore): Promise<RestoredLayout> {
  const { versions, programs, say } = context
  const findCopy = async (): Promise<DataDescription['copies'][number] | null> => {
    const data = await describeData(context)
    if (data.layout.join() === layout.join()) return null
    const copy = data.copies.find((one) => one.layout.join() === layout.join())
    if (copy === undefined)
      throw new OperatorError(
        `The copy of the data from before the upgrade is gone, and ${from} cannot read them as they are. Restore a backup with that version: ${versions.getFolder(from)}/bin/svc-gateway restore.`,
      )
    return copy
  }
  const dataCopy = await findCopy()
  if (dataCopy === null) return { kind: 'unchanged' }
  if (rule === 'loseNothing') return { kind: 'loses', since: dataCopy.at, lost: dataCopy.laterRecords }
  await controlService('stop')
  try {
    if (rule === 'unlessServed' && hasServed(context)) {
      await controlService('start')
      return { kind: 'served' }
    }
    // Again, because the service may have sold something until it stopped.
    const copy = await findCopy()
    if (copy === null) return { kind: 'unchanged' }
    say('Restoring the data as they were before the upgrade.')
    const restoration = await programs.runCommand(versions.getProgram(from), ['restore', copy.file, '--yes'])
    if (restoration.code !== 0) throw new OperatorError(`The data were not restored:\n${describeFailure(restoration)}`)
    return { kind: 'restored', lost: copy.laterRecords }
  } catch (error) {
    await controlService('start')
    throw error
  }
}
