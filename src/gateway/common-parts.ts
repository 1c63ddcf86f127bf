/** What a server has once, however many of its threads serve: its data folder with all that is in it, its mail, its demonstration upstream. */
import type { GatewayConfig } from '../config/config.ts'
import { lostPlans } from '../membership/lost-plans.ts'
import type { Clock } from '../system/clock.ts'
import { DataFolder } from '../system/data-folder.ts'
import type { Ids } from '../system/ids.ts'
import { MailRoom } from '../system/mail/mail-room.ts'
import { filesAllowed, filesNeeded } from '../system/open-files.ts'
import { pleasantPace, startDemoUpstream } from '../upstream/demo/upstream.ts'
import type { DemoUpstream } from '../upstream/demo/upstream.ts'
import type { InstallationParts, Installed } from './installed.ts'
import { openOwnInstallation } from './own-installation.ts'
import type { Services } from './services.ts'

export interface CommonOptions {
  readonly config: GatewayConfig
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Services['log']
  /** Hears what stands in the way of new turns, after the log has. */
  readonly onTrouble?: (trouble: string | null) => void
}

export interface CommonParts extends Installed {
  readonly folder: DataFolder
  readonly demo: DemoUpstream | null
  readonly mailRoom: MailRoom
  /** When nobody serves any more. */
  close(owedMs: number): Promise<void>
}

export async function openCommonParts({ config, clock, ids, log, onTrouble }: CommonOptions): Promise<CommonParts> {
  const folder = new DataFolder(config.store.dataDir)
  const installed = await openInstallation({ config, folder, clock, log, onTrouble })
  const { store, letters } = installed
  for (const sentence of await lostPlans(store.accounts, config)) log.warn(sentence)
  const demo = usesDemo(config) ? await openDemo(config.demo.scripted) : null
  const { smtpUrl, from } = config.mail
  const mailRoom = new MailRoom({ smtpUrl, from, outbox: folder.outbox, log, ids, clock, ...(letters && { queue: letters }) })
  return {
    ...installed,
    folder,
    demo,
    mailRoom,
    async close(owedMs) {
      await mailRoom.close()
      await demo?.close()
      await store.close({ owedMs })
    },
  }
}

/** What speaks to a database of several nodes is loaded by those alone who have one. */
async function openInstallation(parts: InstallationParts): Promise<Installed> {
  const { url, secretKey } = parts.config.store
  if (url === null) return openOwnInstallation(parts)
  const { openSharedInstallation } = await import('./shared-installation.ts')
  return openSharedInstallation(parts, { url, secretKey })
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
