/** `/docs`: how to connect each tool, with the reader's own addresses in the snippets. */
import { catalogue } from '../../errors.ts'
import { codeBlock } from '../code-block.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { fill } from '../page.ts'
import type { PageContext, View } from '../page.ts'
import { snippets } from '../snippets.ts'

interface Chapter {
  readonly id: string
  readonly title: string
  readonly sections: readonly { readonly id: string; readonly title: string; readonly content: Html }[]
}

export function docsView(context: PageContext): View {
  const { t } = context
  const chapters = [start(context), sdks(context), editors(context), apps(context), commandLine(context), rules(context)]
  return {
    title: t.docs.title,
    description: t.docs.lead,
    main: html`<div class="shell docs">
      <nav class="toc" aria-label="${t.docs.onThisPage}">
        <p class="label">${t.docs.onThisPage}</p>
        <ul>
          ${chapters.map(
            ({ id, title, sections }) =>
              html`<li>
                <a href="#${id}">${title}</a>
                <ul>
                  ${sections.map((section) => html`<li><a href="#${section.id}">${section.title}</a></li>`)}
                </ul>
              </li>`,
          )}
        </ul>
      </nav>
      <div class="docs-body">
        <header class="page-head">
          <div>
            <h1>${t.docs.title}</h1>
            <p class="lead">${t.docs.lead}</p>
          </div>
        </header>
        ${chapters.map(
          ({ id, title, sections }) =>
            html`<section class="chapter" aria-labelledby="${id}">
              <h2 id="${id}">${title}</h2>
              ${sections.map(
                (section) =>
                  html`<section aria-labelledby="${section.id}">
                    <h3 id="${section.id}">${section.title}</h3>
                    ${section.content}
                  </section>`,
              )}
            </section>`,
        )}
      </div>
    </div>`,
  }
}

function start(context: PageContext): Chapter {
  const { t, services, viewer } = context
  const { origins, names } = services
  const code = snippets(services)
  return {
    id: 'start',
    title: t.docs.start,
    sections: [
      {
        id: 'addresses',
        title: t.docs.addresses,
        content: html`<dl class="facts">
            <dt>${t.docs.baseUrl}</dt>
            <dd><code>${origins.base}/v1</code></dd>
            <dt>${t.docs.toolServer}</dt>
            <dd><code>${origins.base}/v1/mcp</code></dd>
            <dt>${t.docs.yourKey}</dt>
            <dd>
              <code>${names.keyPrefix}…</code>
              <a class="button small" href="${viewer === null ? '/sign-in?next=/keys' : '/keys'}">${t.docs.makeKey}</a>
            </dd>
          </dl>
          <p>${t.docs.envText}</p>
          ${codeBlock(context, 'shell', code.env)}`,
      },
      { id: 'models', title: t.docs.models, content: modelList(context) },
    ],
  }
}

function modelList({ t, services }: PageContext): Html {
  const path = `GET ${services.origins.base}/v1/models`
  return html`<p>${fill(t.docs.modelsText, { path })}</p>
    <ul class="chips">
      ${services.products.all.map(({ id, name }) => html`<li><code>${id}</code> ${name}</li>`)}
    </ul>`
}

function sdks(context: PageContext): Chapter {
  const { t, services } = context
  const { names } = services
  const code = snippets(services)
  const image = {
    id: 'images',
    title: 'Images',
    content: html`<p>${t.docs.imageText}</p>
      ${code.image !== null && codeBlock(context, 'shell', code.image)}`,
  }
  return {
    id: 'sdks',
    title: t.docs.sdks,
    sections: [
      {
        id: 'curl',
        title: 'curl',
        content: html`<p>${t.docs.curlText}</p>
          ${codeBlock(context, 'shell', code.curl)}`,
      },
      {
        id: 'python',
        title: 'OpenAI · Python',
        content: html`<p>${t.docs.pythonText}</p>
          ${codeBlock(context, 'python', code.python)}`,
      },
      {
        id: 'javascript',
        title: 'OpenAI · JavaScript',
        content: html`<p>${t.docs.jsText}</p>
          ${codeBlock(context, 'javascript', code.javascript)}`,
      },
      ...(code.image === null ? [] : [image]),
      {
        id: 'search',
        title: 'web_search',
        content: html`<p>${fill(t.docs.searchText, { schema: names.searchSchema, model: names.searchModel })}</p>
          ${codeBlock(context, 'shell', code.search)}`,
      },
    ],
  }
}

function editors(context: PageContext): Chapter {
  const { t, services } = context
  const code = snippets(services)
  const tool = `mcp__${services.names.mcpServer}__web_search`
  return {
    id: 'editors',
    title: t.docs.editors,
    sections: [
      {
        id: 'claude-code',
        title: 'Claude Code',
        content: html`<p>${fill(t.docs.claudeText, { tool })}</p>
          ${codeBlock(context, '.mcp.json', code.claude)}
          <p>${t.docs.claudeOr}</p>
          ${codeBlock(context, 'shell', code.claudeShell)}`,
      },
      {
        id: 'cursor',
        title: 'Cursor',
        content: html`<p>${t.docs.cursorMcp}</p>
          ${codeBlock(context, '.cursor/mcp.json', code.cursor)}
          <p>${t.docs.cursorModels}</p>`,
      },
      {
        id: 'vscode',
        title: 'VS Code',
        content: html`<p>${t.docs.vscodeText}</p>
          ${codeBlock(context, '.vscode/mcp.json', code.vscode)}`,
      },
      {
        id: 'codex',
        title: 'Codex',
        content: html`<p>${t.docs.codexText}</p>
          ${codeBlock(context, 'config.toml', code.codex)}`,
      },
    ],
  }
}

function apps(context: PageContext): Chapter {
  const { t, services } = context
  const code = snippets(services)
  return {
    id: 'apps',
    title: t.docs.apps,
    sections: [
      {
        id: 'open-webui',
        title: 'Open WebUI',
        content: html`<p>${t.docs.openWebUiText}</p>
          ${codeBlock(context, 'shell', code.openWebUi)}`,
      },
      {
        id: 'librechat',
        title: 'LibreChat',
        content: html`<p>${t.docs.libreChatText}</p>
          ${codeBlock(context, 'librechat.yaml', code.libreChat)}`,
      },
    ],
  }
}

function commandLine(context: PageContext): Chapter {
  const { t, services } = context
  const code = snippets(services)
  return {
    id: 'cli',
    title: t.docs.cli,
    sections: [
      {
        id: 'cli-login',
        title: services.names.slug,
        content: html`<p>${fill(t.docs.cliText, { command: services.names.slug })}</p>
          ${services.config.brand.cliPackageUrl === null ? html`<p>${t.docs.cliAsk}</p>` : ''}
          ${codeBlock(context, 'shell', code.cli)}
          <p>${t.docs.deviceText}</p>
          ${codeBlock(context, 'shell · device', code.device)}`,
      },
    ],
  }
}

function rules({ t, language, services }: PageContext): Chapter {
  const codes = Object.entries(catalogue).slice(0, 12)
  return {
    id: 'rules',
    title: t.docs.errors,
    sections: [
      {
        id: 'errors',
        title: t.docs.errorCodes,
        content: html`<p>${t.docs.errorsText}</p>
          <div class="table-box card" tabindex="0" role="region" aria-label="${t.docs.errors}">
            <table>
              <thead>
                <tr>
                  <th scope="col">${t.docs.errorCode}</th>
                  <th scope="col">${t.docs.errorStatus}</th>
                  <th scope="col">${t.docs.errorMeaning}</th>
                </tr>
              </thead>
              <tbody>
                ${codes.map(
                  ([code, { status, en, zh }]) =>
                    html`<tr>
                      <th scope="row"><code>${code}</code></th>
                      <td>${status}</td>
                      <td>${withoutBlanks(language === 'zh' ? zh : en)}</td>
                    </tr>`,
                )}
              </tbody>
            </table>
          </div>`,
      },
      {
        id: 'limits',
        title: t.docs.limits,
        content: html`<p>${fill(t.docs.limitsText, { header: services.names.requestIdHeader })}</p>
          <p>${t.docs.idempotency}</p>`,
      },
    ],
  }
}

/** The catalogue's sentence without the part that is filled in for one request. */
function withoutBlanks(text: string): string {
  return text.replace(/[^.。]*\{\w+\}[.。]?/, '').replace(/[::]\s*$/, '.') || text.replace(/[::]?\s*\{\w+\}/, '')
}
