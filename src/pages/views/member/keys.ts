/** `/keys`: make a key, see it once, revoke it. */
import { getPlan } from '../../../domain/billing/plan.ts'
import type { SetupFacts } from '../../../setup/client-setup.ts'
import { chooseModels } from '../../../setup/client-setups.ts'
import { renderSkeleton } from '../../components/skeleton.ts'
import { html } from '../../html.ts'
import { interpolate } from '../../page.ts'
import type { PageContext, View } from '../../page.ts'
import { renderMemberPage } from './member-frame.ts'

const lifetimes = [30, 90, 365] as const

export function createKeysView(context: PageContext): View {
  const { t } = context
  return {
    title: t.keys.title,
    styles: 'account.css',
    main: renderMemberPage(
      context,
      html`<header class="page-head">
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
                ${lifetimes.map((days) => html`<option value="${days}">${interpolate(t.keys.inDays, { days })}</option>`)}
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
          <div data-content>${renderSkeleton(t, 'rows')}</div>
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
        </dialog> `,
    ),
    script: { name: 'keys', texts: { keys: t.keys }, props: { facts: createFacts(context) } },
  }
}

function createFacts({ services, viewer }: PageContext): Omit<SetupFacts, 'key'> {
  const { origins, names, config, products, clock } = services
  const available = viewer === null ? products.all : products.availableTo(getPlan(config, viewer.plan), clock.now())
  const models = chooseModels(available) ?? chooseModels(products.all)
  const none = { id: 'auto', name: 'Auto', contextLength: 128_000, maxOutputTokens: 4_096, images: false }
  return { apiUrl: origins.base, slug: names.slug, serviceName: config.brand.name, ...(models ?? { main: none, fast: none }) }
}
