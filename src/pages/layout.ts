/** The frame around every page: head, navigation, footer. */
import { dataBlock, html } from './html.ts'
import type { Html } from './html.ts'
import { fill } from './page.ts'
import type { PageData } from './page-data.ts'
import type { PageContext, View } from './page.ts'

export function drawPage(context: PageContext, view: View): string {
  const { t, asset, services, language } = context
  const { name } = services.config.brand
  const app = view.layout === 'app'
  const page = html`<!doctype html>
    <html lang="${language === 'zh' ? 'zh-CN' : 'en'}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${view.title.includes(name) ? view.title : `${view.title} · ${name}`}</title>
        ${view.description !== undefined && html`<meta name="description" content="${view.description}" />`}
        <meta name="color-scheme" content="light dark" />
        <meta name="theme-color" media="(prefers-color-scheme: light)" content="#fbfaf8" />
        <meta name="theme-color" media="(prefers-color-scheme: dark)" content="#111413" />
        <link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml" />
        <link rel="stylesheet" href="${asset('site.css')}" />
        <script type="module" src="${asset('site.js')}"></script>
        ${view.script && html`<script type="module" src="${asset(`${view.script.name}.js`)}"></script>`}
      </head>
      <body class="${app ? 'app' : 'page'}">
        <a class="skip" href="#content">${t.frame.skip}</a>
        ${header(context)}
        <main id="content" tabindex="-1">
          ${view.script && html`<noscript><p class="notice shell">${t.frame.noScript}</p></noscript>`} ${view.main}
        </main>
        ${!app && footer(context)} ${dataBlock('page-data', pageData(context, view))}
      </body>
    </html> `
  return page.toString()
}

function pageData({ t, language }: PageContext, { script }: View): PageData {
  return {
    language,
    texts: { common: t.common, ...script?.texts },
    told: script === undefined ? {} : { [script.name]: script.told },
  }
}

/** The mark: a gate within a gate. */
function mark(): Html {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" />
    <path d="M8 25V15a8 8 0 0 1 16 0v10M13 25v-9a3 3 0 0 1 6 0v9" />
  </svg>`
}

function header(context: PageContext): Html {
  const { t, viewer, services } = context
  const { frame } = t
  const links =
    viewer === null
      ? [link(context, '/#plans', frame.plans), link(context, '/docs', frame.docs)]
      : [
          link(context, '/chat', frame.chat),
          link(context, '/account', frame.account),
          link(context, '/keys', frame.keys),
          link(context, '/sessions', frame.sessions),
          link(context, '/docs', frame.docs),
        ]
  return html`<header class="top">
    <div class="shell top-row">
      <a class="brand" href="/">${mark()}<span>${services.config.brand.name}</span></a>
      <nav class="wide" aria-label="${frame.mainNavigation}">${links}</nav>
      <div class="top-end wide">${languageSwitch(context)} ${door(context)}</div>
      <details class="menu narrow">
        <summary class="button quiet">${frame.menu}</summary>
        <nav class="menu-panel" aria-label="${frame.mainNavigation}">${links} ${languageSwitch(context)} ${door(context)}</nav>
      </details>
    </div>
  </header>`
}

function door({ t, viewer, path }: PageContext): Html {
  if (viewer === null) return path === '/sign-in' ? html`` : html`<a class="button small" href="/sign-in">${t.frame.signIn}</a>`
  const label = fill(t.frame.signedInAs, { email: viewer.email ?? viewer.id })
  return html`<button class="button quiet small" type="button" data-sign-out title="${label}">${t.frame.signOut}</button>`
}

function languageSwitch({ t, query }: PageContext): Html {
  const wanted = new URLSearchParams(query)
  wanted.set('lang', t.language.otherCode)
  const code = t.language.otherCode === 'zh' ? 'zh-CN' : 'en'
  return html`<a class="language" href="?${wanted.toString()}" hreflang="${code}" rel="nofollow"
    ><span lang="${code}">${t.language.other}</span></a
  >`
}

function link({ path }: PageContext, href: string, label: string): Html {
  return href === path ? html`<a href="${href}" aria-current="page">${label}</a>` : html`<a href="${href}">${label}</a>`
}

function footer(context: PageContext): Html {
  const { t, services } = context
  return html`<footer class="bottom">
    <div class="shell bottom-row">
      <p class="bottom-brand">${mark()}<span>${services.config.brand.name}</span></p>
      <p>${t.frame.footer}</p>
      <nav aria-label="${services.config.brand.name}">
        <a href="/#plans">${t.frame.plans}</a>
        <a href="/docs">${t.frame.docs}</a>
        ${languageSwitch(context)}
      </nav>
    </div>
  </footer>`
}
