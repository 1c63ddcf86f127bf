/** What programs read of the site: `/robots.txt`, `/sitemap.xml`, `/llms.txt`, and each page of the documentation as Markdown. */
import type { Router } from '../../system/vendor/koa-router.ts'
import type { Services } from '../../services/services.ts'
import { docsPages, writePlainDocsPage } from '../../pages/docs/docs-pages.ts'
import { negotiateLanguage } from '../../pages/language.ts'
import { pages } from '../../pages/pages.ts'
import { getLegalLink } from '../../pages/site-texts/legal-text.ts'
import { createLlmsText } from '../../pages/site-texts/llms-text.ts'
import { readLanguageCookie } from '../request/reader.ts'

export function mountSiteFileRoutes(router: Router, services: Services): void {
  const files: Readonly<Record<string, readonly [type: string, make: (services: Services) => string]>> = {
    '/robots.txt': ['text/plain; charset=utf-8', createRobotsText],
    '/sitemap.xml': ['application/xml; charset=utf-8', createSitemap],
    '/llms.txt': ['text/plain; charset=utf-8', createLlmsText],
  }
  for (const [path, [type, make]] of Object.entries(files))
    router.get(path, (ctx) => {
      ctx.set('cache-control', 'public, max-age=3600')
      ctx.type = type
      ctx.body = make(services)
    })
  for (const page of docsPages)
    router.get(`${page.path}.md`, (ctx) => {
      const language = readLanguageCookie(ctx, services) ?? negotiateLanguage(ctx)
      ctx.vary('accept-language, cookie')
      ctx.set('content-language', language === 'zh' ? 'zh-CN' : 'en')
      ctx.type = 'text/markdown; charset=utf-8'
      ctx.body = writePlainDocsPage(page, services, language)
    })
}

/** Pages for members redirect to sign-in, and endpoints have nothing for a search engine. */
function createRobotsText({ origins }: Pick<Services, 'origins'>): string {
  const memberPaths = pages.filter(({ audience }) => audience === 'members').map(({ path }) => path.replace(/:.*$/, ''))
  const hiddenPaths = ['/api/', '/v1/', '/oauth/', '/sign-in', '/unsubscribe', '/cancel-renewal', '/operator', ...memberPaths]
  return `User-agent: *\n${hiddenPaths.map((path) => `Disallow: ${path}\n`).join('')}\nSitemap: ${origins.site}/sitemap.xml\n`
}

function createSitemap(services: Pick<Services, 'config' | 'origins'>): string {
  const urls = listPublicPaths(services).map((path) => `  <url><loc>${escapeXml(services.origins.site + path)}</loc></url>\n`)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('')}</urlset>\n`
}

/** Targets of links in emails, a question within a sign-in, results of a search, and the console. */
const unlistedPaths: ReadonlySet<string> = new Set([
  '/sign-in/link',
  '/sign-in/switch',
  '/unsubscribe',
  '/cancel-renewal',
  '/docs/search',
  '/operator',
  '/operator/link',
])

function listPublicPaths({ config }: Pick<Services, 'config'>): string[] {
  const isShown = (path: string): boolean => {
    if (path === '/terms' || path === '/privacy')
      return getLegalLink(config, path === '/terms' ? 'terms' : 'privacy', 'en') === path
    if (path === '/status') return config.site.status
    return !unlistedPaths.has(path) && !path.includes(':')
  }
  return pages.filter(({ audience, path }) => audience === 'everyone' && isShown(path)).map(({ path }) => path)
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
