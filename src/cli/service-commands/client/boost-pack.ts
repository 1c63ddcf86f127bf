/** The line that shows a boost pack, in `svc usage` and `svc boost`. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { showUsage } from '../../../api/membership/usage.ts'
import { formatZone } from '../../../system/terminal/format-time.ts'
import type { Context } from '../../context.ts'
import { formatCount, formatTier, formatTimestamp } from '../../terminal/amounts.ts'
import { sanitizeLine } from '../../terminal/sanitize-text.ts'
import type { DeepPartial } from './service-client.ts'

type Pack = NonNullable<DeepPartial<ResponseOf<typeof showUsage>>['boosts']>[number]

export function formatPack(context: Context, pack: Pick<Pack, 'kind' | 'tier' | 'remaining' | 'granted' | 'expires_at'>): string {
  const name = `${sanitizeLine(pack.kind ?? '')} ${formatTier(context, pack.tier)}`
  // Credits without an end have the last day of the calendar.
  const until = pack.expires_at?.startsWith('9999') === true ? '' : formatTimestamp(context, pack.expires_at)
  return context.localize({
    en: `${name}: ${formatCount(pack.remaining)} of ${formatCount(pack.granted)} credits${until && `, until ${until} (${formatZone(context.now())})`}`,
    zh: `${name}：剩余 ${formatCount(pack.remaining)} / ${formatCount(pack.granted)} 点${until && `，有效期至 ${until}（${formatZone(context.now())}）`}`,
  })
}
