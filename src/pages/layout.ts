/** The frame around every page: head, navigation, footer. */
import { renderDataBlock, html } from './html.ts'
import type { Html } from './html.ts'
import { getLegalLink } from './site-texts/legal-text.ts'
import type { Account } from '../domain/identity/account.ts'
import { themes } from './theme.ts'
import type { Theme } from './theme.ts'
import { interpolate, requireOperatorContext } from './page.ts'
import type { PageData } from './page-data.ts'
import type { OperatorContext, PageContext, View } from './page.ts'
import { nameOperator, nameRole, renderLeaveForm } from './views/operator/operator-name.ts'
import { consolePath } from './views/operator/sections.ts'
import { renderAnnouncements } from './components/announcements.ts'
import { renderSignOutForm } from './views/sign-in/sign-out.ts'

const darkMedia = '(prefers-color-scheme: dark)'

export function renderPage(context: PageContext, view: View): string {
  const { t, asset, services, language, theme } = context
  const { name } = services.config.brand
  const app = view.layout === 'app'
  const page = html`<!doctype html>
    <html lang="${language === 'zh' ? 'zh-CN' : 'en'}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${view.title.includes(name) ? view.title : `${view.title} · ${name}`}</title>
        ${view.description !== undefined && html`<meta name="description" content="${view.description}" />`}
        ${view.description !== undefined && renderSocialCard(context, view, view.description)}
        ${view.alternate !== undefined && html`<link rel="alternate" type="text/markdown" href="${view.alternate}" />`}
        <meta name="color-scheme" content="${theme === 'auto' ? 'light dark' : theme}" />
        ${theme !== 'dark' && html`<meta name="theme-color" ${theme === 'auto' && html`media="(prefers-color-scheme: light)"`} content="#fbfaf8" />`}
        ${theme !== 'light' && html`<meta name="theme-color" ${theme === 'auto' && html`media="${darkMedia}"`} content="#111413" />`}
        ${view.refreshTo !== undefined && html`<meta http-equiv="refresh" content="0;url=${view.refreshTo}" />`}
        <link rel="icon" href="${asset('icon-48.png')}" type="image/png" sizes="48x48" />
        <link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml" sizes="any" />
        <link rel="apple-touch-icon" href="${asset('icon-180.png')}" />
        <link rel="preload" href="${asset('inter.woff2')}" as="font" type="font/woff2" crossorigin />
        <link rel="stylesheet" href="${asset('site.css')}" />
        ${theme !== 'light' && html`<link rel="stylesheet" href="${asset('dark.css')}" media="${theme === 'auto' ? `screen and ${darkMedia}` : 'screen'}" />`}
        ${view.styles !== undefined && html`<link rel="stylesheet" href="${asset(view.styles)}" />`}
        <script type="module" src="${asset(`${view.script?.name ?? 'site'}.js`)}"></script>
      </head>
      <body class="${app ? 'app' : 'page'}">
        <a class="skip" href="#content">${t.frame.skip}</a>
        ${view.layout === 'console' ? renderConsoleHeader(requireOperatorContext(context)) : renderHeader(context)}
        ${renderAnnouncements(context)}
        <main id="content" tabindex="-1">${renderNotice(context, view)} ${view.main}</main>
        ${!app && renderFooter(context)} ${renderDataBlock('page-data', createPageData(context, view))}
      </body>
    </html> `
  return page.toString()
}

/** Open Graph: what other sites and messengers show of a link. */
function renderSocialCard({ services, language, path, asset }: PageContext, { title }: View, description: string): Html {
  const { origins, config } = services
  const properties = {
    type: 'website',
    site_name: config.brand.name,
    title,
    description,
    url: origins.site + path,
    locale: language === 'zh' ? 'zh_CN' : 'en_US',
    image: origins.site + asset('social.png'),
    'image:width': '1200',
    'image:height': '630',
  }
  return html`<link rel="canonical" href="${origins.site + path}" />
    ${Object.entries(properties).map(([name, content]) => html`<meta property="og:${name}" content="${content}" />`)}
    <meta name="twitter:card" content="summary_large_image" />`
}

/** What a form did, or a notice where scripts do not run. */
function renderNotice({ t }: PageContext, { notice, needsScript = false }: View): Html {
  if (notice !== undefined) return html`<div class="shell"><p class="notice unsent" role="status">${notice}</p></div>`
  if (!needsScript) return html``
  return html`<noscript
    ><div class="shell"><p class="notice warn unsent">${t.frame.noScript}</p></div></noscript
  >`
}

function createPageData({ t, language, viewer }: PageContext, { script }: View): PageData {
  return {
    language,
    account: viewer?.id ?? null,
    texts: { common: t.common, ...script?.texts },
    props: script === undefined ? {} : { [script.name]: script.props },
  }
}

/** The mark: a gate within a gate. */
function renderLogo(): Html {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" />
    <path d="M8 25V15a8 8 0 0 1 16 0v10M13 25v-9a3 3 0 0 1 6 0v9" />
  </svg>`
}

function renderHeader(context: PageContext): Html {
  const { t, viewer, services } = context
  const { frame } = t
  const links =
    viewer === null
      ? [
          renderLink(context, toSiteLink(context, '/plans'), frame.plans),
          renderLink(context, toSiteLink(context, '/docs'), frame.docs),
        ]
      : [
          renderLink(context, toSiteLink(context, '/chat'), frame.chat),
          renderLink(context, toSiteLink(context, '/account'), frame.account),
          renderLink(context, toSiteLink(context, '/keys'), frame.keys),
          renderLink(context, toSiteLink(context, '/plans'), frame.plans),
          renderLink(context, toSiteLink(context, '/docs'), frame.docs),
        ]
  return html`<header class="top">
    <div class="shell top-row">
      <a class="brand" href="/">${renderLogo()}<span>${services.config.brand.name}</span></a>
      <nav class="wide" aria-label="${frame.mainNavigation}">${links}</nav>
      <div class="top-end wide">
        ${renderLanguageSwitch(context)} ${viewer === null ? renderSignInControl(context) : renderAccountMenu(context, viewer)}
      </div>
      <details class="menu narrow">
        <summary class="button quiet">${frame.menu}</summary>
        <nav class="menu-panel" aria-label="${frame.mainNavigation}">
          ${links} ${viewer !== null && renderAccountLinks(context)} ${renderLanguageSwitch(context)}
          ${renderThemeChoice(context)} ${renderSignInControl(context)}
        </nav>
      </details>
    </div>
  </header>`
}

/** The console has no links of members: its sections are beside the content, and the operator's own things behind their name. */
function renderConsoleHeader(context: OperatorContext): Html {
  const { t, services } = context
  const name = nameOperator(context)
  return html`<header class="top console-top">
    <div class="shell top-row">
      <a class="brand" href="${consolePath}"
        >${renderLogo()}<span>${services.config.brand.name}</span> <span class="badge">${t.operator.title}</span></a
      >
      <details class="menu">
        <summary class="button quiet small">
          <span class="avatar" aria-hidden="true">${name.slice(0, 1)}</span> <span class="operator-name">${name}</span>
        </summary>
        <div class="menu-panel">
          <p class="who">${name}<br />${nameRole(context)}</p>
          <a href="${toSiteLink(context, '/')}">${t.console.toSite}</a>
          ${renderLanguageSwitch(context)} ${renderThemeChoice(context)} ${renderLeaveForm(context, 'quiet small')}
        </div>
      </details>
    </div>
  </header>`
}

/** What belongs to the account, behind its first letter. */
function renderAccountMenu(context: PageContext, viewer: Account): Html {
  const { frame } = context.t
  const name = viewer.email ?? viewer.id
  return html`<details class="menu account-menu">
    <summary class="button quiet small" aria-label="${frame.accountMenu}">
      <span class="avatar" aria-hidden="true">${name.slice(0, 1)}</span>
    </summary>
    <div class="menu-panel">
      <p class="who">${name}</p>
      ${renderAccountLinks(context)} ${renderThemeChoice(context)} ${renderSignInControl(context)}
    </div>
  </details>`
}

function renderAccountLinks(context: PageContext): Html {
  const { rail } = context.t.account
  return html`${renderLink(context, toSiteLink(context, '/sessions'), rail.sessions)}
  ${renderLink(context, toSiteLink(context, '/account/profile'), rail.profile)}`
}

function renderThemeChoice({ t, theme, query }: PageContext): Html {
  const link = (value: Theme): string => {
    const search = new URLSearchParams(query)
    search.set('theme', value)
    return `?${search.toString()}`
  }
  return html`<div class="themes" role="group" aria-label="${t.frame.theme}">
    ${themes.map(
      (value) =>
        html`<a href="${link(value)}" rel="nofollow" data-keep-place ${value === theme && html`aria-current="true"`}
          >${t.frame.themes[value]}</a
        >`,
    )}
  </div>`
}

function renderSignInControl(context: PageContext): Html {
  const { t, viewer, path } = context
  if (viewer === null) return path === '/sign-in' ? html`` : html`<a class="button small" href="/sign-in">${t.frame.signIn}</a>`
  const label = interpolate(t.frame.signedInAs, { email: viewer.email ?? viewer.id })
  return renderSignOutForm(
    context,
    html`<button class="button quiet small" data-sign-out data-tip="${label}">${t.frame.signOut}</button>`,
  )
}

function renderLanguageSwitch({ t, query }: PageContext): Html {
  const search = new URLSearchParams(query)
  search.set('lang', t.language.otherCode)
  const code = t.language.otherCode === 'zh' ? 'zh-CN' : 'en'
  return html`<a class="language" href="?${search.toString()}" hreflang="${code}" rel="nofollow" data-keep-place
    ><span lang="${code}">${t.language.other}</span></a
  >`
}

/** On the console's own origin, what belongs to members is elsewhere. */
function toSiteLink({ services }: PageContext, path: string): string {
  const { listen, console } = services.config
  const isOwnOrigin = console.origin !== null && services.origins.site === console.origin
  return isOwnOrigin && listen.siteUrl !== null && path.startsWith('/') ? listen.siteUrl + path : path
}

function renderLink({ path }: PageContext, href: string, label: string): Html {
  return href === path ? html`<a href="${href}" aria-current="page">${label}</a>` : html`<a href="${href}">${label}</a>`
}

function renderFooter(context: PageContext): Html {
  const { t, services } = context
  return html`<footer class="bottom">
    <div class="shell bottom-row">
      <p class="bottom-brand">${renderLogo()}<span>${services.config.brand.name}</span></p>
      <p>${t.frame.footer}</p>
      <nav aria-label="${services.config.brand.name}">
        <a href="${toSiteLink(context, '/plans')}">${t.frame.plans}</a>
        <a href="${toSiteLink(context, '/docs')}">${t.frame.docs}</a>
        ${services.config.site.status && html`<a href="${toSiteLink(context, '/status')}">${t.status.title}</a>`}
        ${(['terms', 'privacy'] as const).map((name) => {
          const link = getLegalLink(services.config, name, context.language)
          return link !== null && html`<a href="${toSiteLink(context, link)}">${t.legal[name]}</a>`
        })}
        ${services.config.site.contactUrl !== null && html`<a href="${services.config.site.contactUrl}">${t.legal.contact}</a>`}
        ${renderLanguageSwitch(context)} ${renderThemeChoice(context)}
      </nav>
    </div>
  </footer>`
}
