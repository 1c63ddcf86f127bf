/** `/chat`: a real chat over `/v1` with the cookie. The list of models is the plan's. */
import { errorCatalog } from '../../errors.ts'
import { resolvePlan } from '../../domain/billing/subscriptions/terms.ts'
import { computeEffectivePrice } from '../../config/products.ts'
import type { Product } from '../../domain/billing/catalog/product.ts'
import { formatCompactNumber, formatMoney, formatNumber } from '../format.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { renderIcon, renderIconSymbols } from '../components/icons.ts'
import { interpolate, requireMember } from '../page.ts'
import type { PageContext, View } from '../page.ts'

export function createChatView(context: PageContext): View {
  const { t, services } = context
  const { viewer } = requireMember(context)
  const models = services.products.availableTo(resolvePlan(services.config, viewer), services.clock.now())
  return {
    title: t.chat.title,
    layout: 'app',
    needsScript: true,
    styles: 'chat.css',
    main: html`<div class="chat" data-chat>
      ${renderIconSymbols()}
      <h1 class="unseen">${t.chat.title}</h1>
      <aside class="chat-side" aria-label="${t.chat.conversations}" data-side>
        <button class="button quiet small" type="button" data-new>${renderIcon('plus')} ${t.chat.newChat}</button>
        <label class="unseen" for="search">${t.chat.search}</label>
        <input id="search" type="search" placeholder="${t.chat.search}" autocomplete="off" data-search />
        <div class="chat-list" data-conversations></div>
        <p class="hint">${t.chat.kept} <button class="link-button" type="button" data-export-all>${t.chat.exportAll}</button></p>
      </aside>
      <dialog class="drawer" aria-label="${t.chat.conversations}" data-drawer></dialog>
      <div class="chat-main">
        <div class="chat-bar">
          <button class="icon-button" type="button" aria-label="${t.chat.conversations}" data-open-drawer>
            ${renderIcon('list')}
          </button>
          <p class="chat-title" data-title></p>
          <button class="icon-button" type="button" aria-label="${t.chat.newChat}" data-new>${renderIcon('plus')}</button>
        </div>
        <p class="notice warn chat-notice" role="status" data-storage hidden></p>
        <div class="chat-scroll" data-scroll tabindex="0" role="region" aria-label="${t.chat.conversation}">
          <div class="shell chat-width">
            <h2 class="unseen">${t.chat.conversation}</h2>
            <div class="chat-empty" data-empty>
              <h2>${t.chat.emptyTitle}</h2>
              <p class="sub">${t.chat.emptyText}</p>
              <ul class="suggestions" role="list">
                ${t.chat.suggestions.map((text) => html`<li><button type="button" data-suggestion>${text}</button></li>`)}
              </ul>
            </div>
            <ol class="messages" role="list" data-messages></ol>
          </div>
        </div>
        <p class="unseen" role="status" data-status></p>
        <form method="post" class="composer shell chat-width" data-composer novalidate>
          <button class="icon-button jump" type="button" aria-label="${t.chat.jump}" data-tip="${t.chat.jump}" data-jump hidden>
            ${renderIcon('down')}
          </button>
          <div class="composer-box">
            <ul class="attachments" role="list" aria-label="${t.chat.attachedPictures}" data-attachments hidden></ul>
            <label class="unseen" for="message">${t.chat.message}</label>
            <textarea
              id="message"
              rows="1"
              placeholder="${t.chat.placeholder}"
              aria-describedby="composer-hint"
              autofocus
            ></textarea>
            <div class="composer-tools">
              <button class="icon-button" type="button" aria-label="${t.chat.attach}" data-tip="${t.chat.attach}" data-attach>
                ${renderIcon('picture')}
              </button>
              <input type="file" accept="image/png,image/jpeg,image/webp,image/gif" multiple hidden data-files />
              <button
                class="icon-button"
                type="button"
                aria-label="${t.chat.settings}"
                data-tip="${t.chat.settings}"
                data-open-settings
              >
                ${renderIcon('settings')}
              </button>
              ${renderPicker(context, models)}
              <button class="button" data-send>${t.chat.send}</button>
              <button class="button quiet" type="button" data-stop hidden>${t.chat.stop}</button>
            </div>
          </div>
          <div class="composer-foot">
            <a class="balance-line" href="/account" data-balance></a>
            <p class="hint" id="composer-hint">${t.chat.hint}</p>
          </div>
        </form>
      </div>
      ${renderSettings(context)}
    </div>`,
    script: {
      name: 'chat',
      texts: { chat: t.chat },
      props: {
        account: viewer.id,
        origins: [...new Set([services.origins.site, services.origins.base])],
        models: models.map(({ id, name, tier, capabilities }) => ({ id, name, tier, capabilities })),
        statuses: Object.fromEntries(Object.entries(errorCatalog).map(([code, { status }]) => [code, status])),
        searchSchema: services.names.searchSchema,
      },
    },
  }
}

/** The models of the plan by tier, each with what helps to choose. */
function renderPicker({ t, language, services }: PageContext, models: readonly Product[]): Html {
  const renderItem = ({ id, name, tier, contextLength, description, flatCredits }: Product): Html => {
    const { effectiveInput, effectiveOutput } = computeEffectivePrice(services.config, tier)
    const price =
      flatCredits === null
        ? interpolate(t.chat.modelPrice, {
            input: formatMoney(effectiveInput, 'USD', language),
            output: formatMoney(effectiveOutput, 'USD', language),
          })
        : interpolate(t.chat.flatPrice, { credits: formatNumber(flatCredits, language) })
    return html`<label class="picker-item">
      <input type="radio" name="model" value="${id}" />
      <span class="picker-name">${name} <span class="badge ${tier}">${t.home[tier]}</span></span>
      ${description !== null && html`<span class="sub">${description[language]}</span>`}
      <span class="sub"
        >${interpolate(t.chat.modelContext, { tokens: formatCompactNumber(contextLength, language, 3) })} · ${price}</span
      >
    </label>`
  }
  return html`<details class="menu picker" data-picker>
    <summary class="icon-button picker-button">
      <span class="unseen">${t.chat.model}:</span> <span data-picker-name></span> ${renderIcon('chevron')}
    </summary>
    <fieldset class="picker-panel">
      <legend class="unseen">${t.chat.model}</legend>
      ${(['light', 'flagship'] as const).map((tier) => models.filter((model) => model.tier === tier).map(renderItem))}
    </fieldset>
  </details>`
}

function renderSettings({ t }: PageContext): Html {
  return html`<dialog class="dialog" aria-labelledby="settings-title" data-settings>
    <form method="dialog">
      <h2 id="settings-title">${t.chat.settings}</h2>
      <div class="field">
        <label for="system">${t.chat.system}</label>
        <textarea id="system" rows="5" maxlength="20000" aria-describedby="system-hint"></textarea>
        <p class="hint" id="system-hint">${t.chat.systemHint}</p>
      </div>
      <div class="field">
        <label class="check"><input id="has-temperature" type="checkbox" /> ${t.chat.temperature}</label>
        <input
          id="temperature"
          type="range"
          min="0"
          max="2"
          step="0.1"
          aria-label="${t.chat.temperature}"
          aria-describedby="temperature-hint"
        />
        <p class="hint" id="temperature-hint"><output data-temperature></output> ${t.chat.temperatureHint}</p>
      </div>
      <div class="actions form-end">
        <button class="button">${t.chat.saveSettings}</button>
        <button class="button quiet" type="button" data-cancel>${t.common.cancel}</button>
      </div>
    </form>
  </dialog>`
}
