/** `GET /v1/notices`: what operators announce, for everyone; caches may keep it for seconds. */
import { createHash } from 'node:crypto'
import type { Router } from '../../system/vendor/koa-router.ts'
import type { ResponseOf } from '../../api/endpoint.ts'
import { listNotices } from '../../api/notices.ts'
import { formatInstant } from '../../domain/instant.ts'
import type { Notice } from '../../domain/notice.ts'
import type { Services } from '../../services/services.ts'
import { mount } from '../endpoint-handler.ts'

export function mountNoticeRoute(router: Router, { membership }: Pick<Services, 'membership'>): void {
  mount(router, listNotices, async (ctx) => {
    const list: ResponseOf<typeof listNotices> = { object: 'list', data: (await membership.notices.listCurrent()).map(toNotice) }
    const body = JSON.stringify(list)
    ctx.set('cache-control', 'public, max-age=10')
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    ctx.set('etag', etag)
    if (hasEtag(ctx.get('if-none-match'), etag)) {
      ctx.status = 304
      ctx.body = null
      return
    }
    ctx.status = 200
    ctx.type = 'application/json'
    ctx.body = body
  })
}

/** Koa's `fresh` refuses requests with `cache-control: no-cache`, which browsers and Node send to revalidate. */
function hasEtag(header: string, etag: string): boolean {
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}

export function toNotice({ id, kind, text, startsAt, endsAt, revision }: Notice): ResponseOf<typeof listNotices>['data'][number] {
  return { id, kind, text: { ...text }, from: formatInstant(startsAt), until: formatInstant(endsAt), revision }
}
