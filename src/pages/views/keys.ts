/** `/keys`: make a key, see it once, revoke it. */
import { html } from '../html.ts'
import { fill } from '../page.ts'
import type { PageContext, View } from '../page.ts'

const lifetimes = [30, 90, 365] as const

export function keysView({ t, services }: PageContext): View {
  const model = services.products.all.find(({ capabilities }) => capabilities.includes('chat'))?.id ?? 'auto'
  return {
    title: t.keys.title,
    main: html`<div class="shell dashboard">
      <header class="page-head">
        <div>
          <h1>${t.keys.title}</h1>
          <p class="sub">${t.keys.lead}</p>
        </div>
      </header>
      <section class="card pad" aria-labelledby="title-new">
        <div class="card-head"><h2 id="title-new">${t.keys.newTitle}</h2></div>
        <form method="post" data-form="create" class="form-row" novalidate>
          <div class="field">
            <label for="key-name">${t.keys.name}</label>
            <input id="key-name" name="name" maxlength="64" required autocomplete="off" placeholder="${t.keys.nameHint}" />
          </div>
          <div class="field">
            <label for="key-expiry">${t.keys.expiry}</label>
            <select id="key-expiry" name="expires_in_days">
              <option value="">${t.keys.never}</option>
              ${lifetimes.map((days) => html`<option value="${days}">${fill(t.keys.inDays, { days })}</option>`)}
            </select>
          </div>
          <button class="button">${t.keys.create}</button>
        </form>
        <div data-outcome></div>
        <div data-created></div>
      </section>
      <section class="card" aria-labelledby="title-list" data-live="keys" aria-busy="true">
        <div class="card-head pad-head"><h2 id="title-list">${t.keys.listTitle}</h2></div>
        <p class="status-line" role="status" data-status></p>
        <div data-content><p class="sub loading pad-rest">${t.account.loading}</p></div>
      </section>
      <dialog class="dialog" aria-labelledby="revoke-title" data-revoke>
        <form method="dialog">
          <h2 id="revoke-title" data-title></h2>
          <p>${t.keys.revokeText}</p>
          <div class="form-end">
            <button class="button quiet" value="no" autofocus>${t.common.cancel}</button>
            <button class="button danger" value="yes">${t.keys.revokeSure}</button>
          </div>
        </form>
      </dialog>
    </div>`,
    script: { name: 'keys', texts: { keys: t.keys }, told: { base: services.origins.base, model } },
  }
}
