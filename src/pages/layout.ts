/** The frame around every page: head, navigation, footer. */
import { dataBlock, html } from './html.ts'
import type { Html } from './html.ts'
import { fill } from './page.ts'
import type { PageData } from './page-data.ts'
import type { Scene, View } from './page.ts'

export function drawPage(scene: Scene, view: View): string {
  const { t, asset, services, language } = scene
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
        ${header(scene)}
        <main id="content" tabindex="-1">
          ${view.script && html`<noscript><p class="notice shell">${t.frame.noScript}</p></noscript>`} ${view.main}
        </main>
        ${!app && footer(scene)} ${dataBlock('page-data', pageData(scene, view))}
      </body>
    </html> `
  return page.toString()
}

function pageData({ t, language }: Scene, { script }: View): PageData {
  return {
    language,
    texts: { common: t.common, ...script?.texts },
    told: script === undefined ? {} : { [script.name]: script.told },
  }
}

/** The mark: a gate within a gate. */
export function mark(): Html {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" />
    <path d="M8 25V15a8 8 0 0 1 16 0v10M13 25v-9a3 3 0 0 1 6 0v9" />
  </svg>`
}

function header(scene: Scene): Html {
  const { t, viewer, services } = scene
  const { frame } = t
  const links =
    viewer === null
      ? [link(scene, '/#plans', frame.plans), link(scene, '/docs', frame.docs)]
      : [
          link(scene, '/chat', frame.chat),
          link(scene, '/account', frame.account),
          link(scene, '/keys', frame.keys),
          link(scene, '/sessions', frame.sessions),
          link(scene, '/docs', frame.docs),
        ]
  return html`<header class="top">
    <div class="shell top-row">
      <a class="brand" href="/">${mark()}<span>${services.config.brand.name}</span></a>
      <nav class="wide" aria-label="${frame.mainNavigation}">${links}</nav>
      <div class="top-end wide">${languageSwitch(scene)} ${door(scene)}</div>
      <details class="menu narrow">
        <summary class="button quiet">${frame.menu}</summary>
        <nav class="menu-panel" aria-label="${frame.mainNavigation}">${links} ${languageSwitch(scene)} ${door(scene)}</nav>
      </details>
    </div>
  </header>`
}

function door({ t, viewer, path }: Scene): Html {
  if (viewer === null) return path === '/sign-in' ? html`` : html`<a class="button small" href="/sign-in">${t.frame.signIn}</a>`
  const label = fill(t.frame.signedInAs, { email: viewer.email ?? viewer.id })
  return html`<button class="button quiet small" type="button" data-sign-out title="${label}">${t.frame.signOut}</button>`
}

function languageSwitch({ t, query }: Scene): Html {
  const wanted = new URLSearchParams(query)
  wanted.set('lang', t.language.otherCode)
  const code = t.language.otherCode === 'zh' ? 'zh-CN' : 'en'
  return html`<a class="language" href="?${wanted.toString()}" hreflang="${code}" rel="nofollow"
    ><span lang="${code}">${t.language.other}</span></a
  >`
}

function link({ path }: Scene, href: string, label: string): Html {
  return href === path ? html`<a href="${href}" aria-current="page">${label}</a>` : html`<a href="${href}">${label}</a>`
}

function footer(scene: Scene): Html {
  const { t, services } = scene
  return html`<footer class="bottom">
    <div class="shell bottom-row">
      <p class="bottom-brand">${mark()}<span>${services.config.brand.name}</span></p>
      <p>${t.frame.footer}</p>
      <nav aria-label="${services.config.brand.name}">
        <a href="/#plans">${t.frame.plans}</a>
        <a href="/docs">${t.frame.docs}</a>
        ${languageSwitch(scene)}
      </nav>
    </div>
  </footer>`
}
