/** `/docs` and its pages: Markdown of `src/pages/docs/` with a list of pages, search and the reader's own key in the snippets. */
import { docsPages, writeDocsPage } from '../docs/docs-pages.ts'
import { createDocsFacts } from '../docs/docs-facts.ts'
import type { DocsPage } from '../docs/docs-page.ts'
import { searchDocs } from '../docs/search-docs.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { renderMarkdown } from '../markdown-html.ts'
import { interpolate } from '../page.ts'
import type { PageContext, View } from '../page.ts'

export function createDocsView(page: DocsPage): (context: PageContext) => View {
  return (context) => {
    const { t, language, services } = context
    const source = writeDocsPage(page, services, language)
    const { content, headings } = renderMarkdown(context, source)
    const [, description = t.docs.lead] = /^# .*\n\n([^\n`#[|]{20,})/.exec(source) ?? []
    const chapters = headings.filter(({ level }) => level === 2)
    const hasKey = source.includes(createDocsFacts(services).key)
    return {
      title: page.path === '/docs' ? t.docs.title : `${page.title[language]} · ${t.docs.title}`,
      description,
      styles: 'docs.css',
      alternate: `${page.path}.md`,
      main: renderFrame(
        context,
        page.path,
        html`<article class="text-page docs-body">
            ${content}
            <p class="docs-end"><a href="${page.path}.md">${t.docs.asMarkdown}</a> ${renderNext(page, context)}</p>
          </article>
          <aside class="docs-side">
            ${hasKey && renderKeyForm(context)}
            ${
              chapters.length > 1 &&
              html`<nav aria-label="${t.docs.onThisPage}">
                <p class="label">${t.docs.onThisPage}</p>
                <ul role="list">
                  ${chapters.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}
                </ul>
              </nav>`
            }
          </aside>`,
      ),
      script: { name: 'docs', texts: { docs: t.docs }, props: { placeholder: createDocsFacts(services).key } },
    }
  }
}

export function createDocsSearchView(context: PageContext): View {
  const { t, language, services, query } = context
  const searchText = query.get('q') ?? ''
  const matches = searchDocs(searchText, services, language)
  return {
    title: `${t.docs.search} · ${t.docs.title}`,
    styles: 'docs.css',
    main: renderFrame(
      context,
      '/docs/search',
      html`<div class="text-page docs-body">
        <h1>${t.docs.search}</h1>
        <p>
          ${interpolate(matches.length === 0 ? t.docs.noMatch : t.docs.matches, { query: searchText, count: matches.length })}
        </p>
        <ul class="docs-matches" role="list">
          ${matches.map(
            ({ page, heading, path, excerpt }) =>
              html`<li>
                <a href="${path}">${heading === '' ? page : `${page}: ${heading}`}</a>
                <p>${excerpt}</p>
              </li>`,
          )}
        </ul>
      </div>`,
    ),
  }
}

function renderFrame(context: PageContext, path: string, content: Html): Html {
  const { t, query } = context
  return html`<div class="shell docs">
    <div class="docs-nav">
      <form class="docs-search" action="/docs/search" role="search">
        <label class="unseen" for="docs-query">${t.docs.search}</label>
        <input
          id="docs-query"
          name="q"
          type="search"
          placeholder="${t.docs.search}"
          value="${query.get('q') ?? ''}"
          maxlength="100"
        />
      </form>
      <details class="docs-menu">
        <summary>${t.docs.allPages}</summary>
        ${renderPageList(context, path)}
      </details>
      <div class="docs-list">${renderPageList(context, path)}</div>
    </div>
    ${content}
  </div>`
}

function renderPageList({ t, language }: PageContext, path: string): Html {
  const list = (group: DocsPage['group']): Html =>
    html`<ul role="list">
      ${docsPages
        .filter((page) => page.group === group)
        .map(
          (page) =>
            html`<li><a href="${page.path}" ${page.path === path && html`aria-current="page"`}>${page.title[language]}</a></li>`,
        )}
    </ul>`
  return html`<nav aria-label="${t.docs.title}">
    ${list('guide')}
    <p class="label">${t.docs.tools}</p>
    ${list('tools')}
  </nav>`
}

/** The key stays in this tab; the script puts it in place of the placeholder. Text browsers show hidden forms: `post` keeps it out of the address. */
function renderKeyForm({ t, viewer }: PageContext): Html {
  return html`<form method="post" class="docs-key" data-key hidden>
    <label for="docs-key">${t.docs.yourKey}</label>
    <input id="docs-key" name="key" autocomplete="off" spellcheck="false" aria-describedby="docs-key-hint" />
    <p class="hint" id="docs-key-hint">${t.docs.keyHint}</p>
    <p class="actions">
      ${
        viewer === null
          ? html`<a class="button quiet small" href="/sign-in?next=/keys">${t.docs.makeKey}</a>`
          : html`<a class="button quiet small" href="/keys">${t.docs.makeKey}</a>`
      }
    </p>
  </form>`
}

function renderNext(page: DocsPage, { language, t }: PageContext): Html {
  const next = docsPages[docsPages.indexOf(page) + 1]
  return next === undefined
    ? html``
    : html`<a class="docs-next" href="${next.path}">${interpolate(t.docs.next, { page: next.title[language] })}</a>`
}
