/** `/account/turns.csv`: the member's turns as a file, with the filter of the usage page. */
import { Readable } from 'node:stream'
import type { Router } from '../../system/vendor/koa-router.ts'
import { texts } from '../../pages/texts/texts.ts'
import { readTurnFilter } from '../../pages/views/member/usage/turn-list.ts'
import { writeTurnsCsv } from '../../pages/views/member/usage/turns-csv.ts'
import type { Services } from '../../services/services.ts'
import { negotiateLanguage } from '../../pages/language.ts'
import { readLanguageCookie } from '../request/reader.ts'
import { requireSessionCookie } from '../auth/session-auth.ts'

export function mountTurnsExportRoute(router: Router, services: Services): void {
  router.get('/account/turns.csv', async (ctx) => {
    const { account } = await requireSessionCookie(ctx, services)
    const language = readLanguageCookie(ctx, services) ?? negotiateLanguage(ctx)
    const filter = readTurnFilter(new URLSearchParams(ctx.querystring))
    const day = new Date(services.clock.now()).toISOString().slice(0, 10)
    ctx.type = 'text/csv; charset=utf-8'
    ctx.set('cache-control', 'private, no-store')
    ctx.set('content-disposition', `attachment; filename="turns-${day}.csv"`)
    ctx.body = Readable.from(writeTurnsCsv(services, { account: account.id, filter, texts: texts[language].account }))
  })
}
