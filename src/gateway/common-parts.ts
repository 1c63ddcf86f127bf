/** What a server has once, however many of its threads serve: its data folder with all that is in it, its mail, its demonstration upstream. */
import { existsSync } from 'node:fs'
import type { GatewayConfig } from '../config/config.ts'
import { lostPlans } from '../membership/lost-plans.ts'
import type { SqliteStore } from '../store/sqlite/open.ts'
import type { Clock } from '../system/clock.ts'
import { DataFolder } from '../system/data-folder.ts'
import type { Ids } from '../system/ids.ts'
import { MailRoom } from '../system/mail/mail-room.ts'
import { filesAllowed, filesNeeded } from '../system/open-files.ts'
import { openSecret } from '../system/secret.ts'
import { pleasantPace, startDemoUpstream } from '../upstream/demo/upstream.ts'
import type { DemoUpstream } from '../upstream/demo/upstream.ts'
import { openOwnStore } from './open-store.ts'
import type { Services } from './services.ts'

export interface CommonOptions {
  readonly config: GatewayConfig
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Services['log']
  /** Hears what stands in the way of new turns, after the log has. */
  readonly onTrouble?: (trouble: string | null) => void
}

export interface CommonParts {
  readonly folder: DataFolder
  /** Its folder, where the installation began with this start. */
  readonly begunIn: string | null
  readonly store: SqliteStore
  readonly secret: Buffer
  readonly demo: DemoUpstream | null
  readonly mailRoom: MailRoom
  /** When nobody serves any more. */
  close(owedMs: number): Promise<void>
}

export async function openCommonParts({ config, clock, ids, log, onTrouble }: CommonOptions): Promise<CommonParts> {
  const folder = new DataFolder(config.store.dataDir)
  const isNew = !folder.hasDatabase()
  const openToOthers = folder.prepare()
  if (openToOthers !== null) log.warn(openToOthers)
  const known = existsSync(folder.secret) ? openSecret(folder.secret) : null
  const store = await openOwnStore(folder, clock, log, onTrouble)
  if (known === null && !isNew) log.warn(`${folder.secret} was gone; with a new one, links to images sent before are void`)
  // A new one is made last, because it says that everything before it was done.
  const secret = known ?? openSecret(folder.secret)
  for (const sentence of await lostPlans(store.accounts, config)) log.warn(sentence)
  const demo = usesDemo(config) ? await openDemo(config.demo.scripted) : null
  const { smtpUrl, from } = config.mail
  const mailRoom = new MailRoom({ smtpUrl, from, outbox: folder.outbox, log, ids, clock })
  return {
    folder,
    begunIn: isNew ? folder.path : null,
    store,
    secret,
    demo,
    mailRoom,
    async close(owedMs) {
      await mailRoom.close()
      await demo?.close()
      await store.close({ owedMs })
    },
  }
}

/** Of what the configuration asks for, what the system does not let this process have. */
export function sayWhatIsNotAllowed({ config, log }: Pick<Services, 'config' | 'log'>): void {
  const [needed, allowed] = [filesNeeded(config), filesAllowed()]
  if (allowed !== null && allowed < needed)
    log.warn(
      { allowed, needed },
      `this process may open ${allowed} files, which is about ${Math.max(0, Math.floor((allowed - 256) / 2))} streams at once; for all that the configuration allows, start it with ulimit -n ${needed}`,
    )
}

function usesDemo(config: GatewayConfig): boolean {
  return Object.values(config.upstreams).some(({ baseUrl }) => baseUrl === 'demo')
}

/** Whoever scripts it wants it fast; whoever meets it on a first run shall see that it streams. */
function openDemo(scripted: boolean): Promise<DemoUpstream> {
  return startDemoUpstream({ scripted, ...(scripted ? {} : { pace: pleasantPace }) })
}
