/** The first steps of a new account: a key, the first request watched as it arrives, the editor, and the check-in. */
import type { ApiKey } from '../../../../domain/identity/api-key.ts'
import { renderCodeBlock } from '../../../components/code-block.ts'
import { PageForm } from '../../../components/forms/form.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { PageContext } from '../../../page.ts'

export function renderFirstSteps(context: PageContext, keys: readonly ApiKey[]): Html {
  const { t, services } = context
  const { account: texts } = t
  const { steps } = texts
  const live = keys.find(({ revokedAt }) => revokedAt === null)
  const model = services.products.all.find(({ capabilities }) => capabilities.includes('chat'))?.id ?? 'auto'
  const request = `curl ${services.origins.base}/v1/chat/completions \\
  -H "Authorization: Bearer $YOUR_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`
  const makeKey = new PageForm(context, 'create').render({
    path: '/keys',
    hidden: { name: steps.keyName },
    content: html`<button class="button small">${steps.makeKey}</button>`,
  })
  const checkIn = new PageForm(context, 'checkin').render({
    path: '/account/boosts',
    content: html`<button class="button small">${texts.checkinButton}</button>`,
  })
  const renderStep = (title: string, content: Html, isDone = false): Html =>
    html`<li class="step ${isDone && 'done'}">
      <h3>${title} ${isDone && html`<span class="unseen">${steps.done}</span>`}</h3>
      <div class="step-body">${content}</div>
    </li>`
  return html`<section class="card pad" aria-labelledby="title-start" data-first-turn>
    <div class="card-head"><h2 id="title-start">${steps.title}</h2></div>
    <ol class="steps" role="list">
      ${renderStep(
        steps.key,
        live === undefined
          ? html`<p>${steps.keyText}</p>
              ${makeKey}`
          : html`<p>${interpolate(steps.keyDone, { name: live.name })}</p>`,
        live !== undefined,
      )}
      ${renderStep(
        steps.request,
        html`<p role="status" data-watch>${steps.waiting}</p>
          ${renderCodeBlock(context, 'curl', request)}`,
      )}
      ${renderStep(
        steps.editor,
        html`<p>${steps.editorText} <a href="/keys">${texts.rail.keys}</a> · <a href="/docs">${steps.docs}</a></p>`,
      )}
      ${renderStep(
        steps.checkin,
        html`<p>${steps.checkinText}</p>
          ${checkIn}`,
      )}
    </ol>
  </section>`
}
