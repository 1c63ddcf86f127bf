/** `/chat`: a real chat over `/v1` with the cookie. The list of models is the plan's. */
import { catalogue } from '../../errors.ts'
import { planFor } from '../../membership/plan.ts'
import { html } from '../html.ts'
import { memberOf } from '../page.ts'
import type { PageContext, View } from '../page.ts'

export function chatView(context: PageContext): View {
  const { t, services } = context
  const viewer = memberOf(context)
  const models = services.products.availableTo(planFor(services.config, viewer.plan), services.clock.now())
  const group = (label: string, tier: 'light' | 'flagship') => {
    const own = models.filter((model) => model.tier === tier)
    return (
      own.length > 0 &&
      html`<optgroup label="${label}">${own.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}</optgroup>`
    )
  }
  return {
    title: t.chat.title,
    layout: 'app',
    main: html`<div class="chat" data-chat>
      <h1 class="unseen">${t.chat.title}</h1>
      <div class="chat-bar">
        <div class="shell chat-width chat-bar-row">
          <label class="unseen" for="model">${t.chat.model}</label>
          <select id="model" class="small-select">
            ${group(t.home.light, 'light')} ${group(t.home.flagship, 'flagship')}
          </select>
          <button class="button quiet small" type="button" data-new>${t.chat.newChat}</button>
        </div>
      </div>
      <div class="chat-scroll" data-scroll tabindex="0" role="region" aria-label="${t.chat.conversation}">
        <div class="shell chat-width">
          <div class="chat-empty" data-empty>
            <h2>${t.chat.emptyTitle}</h2>
            <p class="sub">${t.chat.emptyText}</p>
            <ul class="suggestions">
              ${t.chat.suggestions.map((text) => html`<li><button type="button" data-suggestion>${text}</button></li>`)}
            </ul>
          </div>
          <ol class="messages" data-messages></ol>
        </div>
      </div>
      <p class="unseen" role="status" data-status></p>
      <form method="post" class="composer shell chat-width" data-composer novalidate>
        <div class="composer-box">
          <label class="unseen" for="message">${t.chat.message}</label>
          <textarea
            id="message"
            rows="1"
            placeholder="${t.chat.placeholder}"
            aria-describedby="composer-hint"
            autofocus
          ></textarea>
          <button class="button" data-send>${t.chat.send}</button>
          <button class="button quiet" type="button" data-stop hidden>${t.chat.stop}</button>
        </div>
        <p class="hint" id="composer-hint">${t.chat.hint}</p>
      </form>
    </div>`,
    script: {
      name: 'chat',
      texts: { chat: t.chat },
      told: {
        account: viewer.id,
        origins: [...new Set([services.origins.site, services.origins.base])],
        models: models.map(({ id, name, capabilities }) => ({ id, name, capabilities })),
        statuses: Object.fromEntries(Object.entries(catalogue).map(([code, { status }]) => [code, status])),
        searchSchema: services.names.searchSchema,
      },
    },
  }
}
