/** What needs the operator now, each with the place that shows it. Only what the role may see. */
import type { NodeFigures } from '../../../../services/health/node-figures.ts'
import { formatNumber } from '../../../format.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { consolePath, consoleSections, hasScope } from '../sections.ts'

export interface Need {
  readonly text: string
  readonly href: string
}

/** Below it `doctor` warns too. */
const minFreeBytes = 512 * 1024 * 1024
/** An email that waits for longer is not sent by the next attempt. */
const maxEmailSeconds = 300

export async function findNeeds(context: OperatorContext, figures: NodeFigures): Promise<readonly Need[]> {
  const { t, operations, language } = context
  const { needs: texts } = t.console.now
  const count = (text: string, value: number): string => interpolate(text, { count: formatNumber(value, language) })
  const system: string[] = []
  if (hasScope(context, 'audit:read')) {
    // Sentences of the service about itself, which are in English in its log and its checks too.
    system.push(...(operations.isDraining() ? [texts.draining] : []), ...(await operations.notReadyReasons()))
    const mailNote = await operations.mailNote()
    if (mailNote !== null) system.push(mailNote)
    else if (figures.emailsWaiting > 0 && figures.oldestEmailSeconds > maxEmailSeconds) system.push(texts.mail)
    system.push(...(operations.database?.getNotes() ?? []))
    if (figures.freeDiskBytes !== null && figures.freeDiskBytes < minFreeBytes) system.push(texts.disk)
    const { backupAgeSeconds: age, backupIntervalSeconds: interval } = figures
    if (age !== null && interval !== null && age > 2 * interval) system.push(texts.backup)
    if (figures.mismatches > 0) system.push(count(texts.mismatches, figures.mismatches))
    if (figures.pendingSettlements > 0) system.push(count(texts.pending, figures.pendingSettlements))
  }
  const down = hasScope(context, 'routing:read') ? figures.targets.filter(({ breaker }) => breaker !== 'closed') : []
  const hasUngranted = hasScope(context, 'money:read') && figures.ungrantedOrders > 0
  return [
    ...system.map((text) => ({ text, href: consoleSections.system.path })),
    ...down.map(({ target }) => ({ text: interpolate(texts.target, { target }), href: `${consolePath}#upstreams` })),
    ...(hasUngranted
      ? [{ text: count(texts.ungranted, figures.ungrantedOrders), href: `${consoleSections.orders.path}?state=paid` }]
      : []),
  ]
}
