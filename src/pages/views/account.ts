/** `/account`: the plan, its pools, usage, boosts; password and the way out. What changes by itself is filled in by `account.js`. */
import { planFor } from '../../membership/plan.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { fill, memberOf } from '../page.ts'
import type { PageContext, View } from '../page.ts'

export function accountView(context: PageContext): View {
  const { t, services } = context
  const viewer = memberOf(context)
  const plan = planFor(services.config, viewer.plan)
  return {
    title: t.account.title,
    main: html`<div class="shell dashboard">
      <header class="page-head">
        <div>
          <h1>${t.account.hello}</h1>
          <p class="sub">${viewer.email}</p>
        </div>
        <p class="plan-now">
          <span class="sub">${t.account.plan}</span>
          <strong data-plan>${plan.name}</strong>
          ${viewer.planUntil !== null && planEnd(context, viewer.planUntil)}
          <a class="button quiet small" href="/#plans">${t.account.change}</a>
        </p>
      </header>
      <div data-outcome role="status"></div>
      ${live('pools', t.account.poolsTitle, t.account.poolsLead, t.account.loading)}
      <div class="columns">
        ${live('chart', t.account.chartTitle, t.account.chartLead, t.account.loading)}
        ${live('boosts', t.account.boostsTitle, t.account.boostsLead, t.account.loading)}
      </div>
      ${live('turns', t.account.turnsTitle, '', t.account.loading)}
      <div class="columns even">${passwordCard(context)} ${deleteCard(context, viewer.email ?? viewer.id)}</div>
    </div>`,
    script: {
      name: 'account',
      texts: { account: t.account },
      told: {},
    },
  }
}

/** A day of the service's calendar, wherever its machine is. */
function planEnd({ t, language, services }: PageContext, until: number): Html {
  const { timeZone } = services.config
  const date = new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en-US', { dateStyle: 'medium', timeZone }).format(until)
  return html`<time class="sub" datetime="${new Date(until).toISOString()}">${fill(t.account.planUntil, { date })}</time>`
}

/** Where a code is entered when there is no password, or it is forgotten: shown once the code has been sent. */
function proofField({ t }: PageContext, form: string): Html {
  return html`<p class="form-links"><button class="link-button" type="button" data-prove>${t.account.proofInstead}</button></p>
    <div class="field" data-proof hidden>
      <label for="${form}-code">${t.account.proofCode}</label>
      <input class="code" id="${form}-code" name="code" inputmode="numeric" autocomplete="one-time-code" />
    </div>`
}

function live(name: string, title: string, lead: string, loading: string): Html {
  return html`<section class="card pad" data-live="${name}" aria-labelledby="title-${name}" aria-busy="true">
    <div class="card-head">
      <h2 id="title-${name}">${title}</h2>
      <p>${lead}</p>
    </div>
    <div data-content><p class="sub loading">${loading}</p></div>
  </section>`
}

function passwordCard(context: PageContext): Html {
  const { t } = context
  return html`<section class="card pad" aria-labelledby="title-password">
    <div class="card-head">
      <h2 id="title-password">${t.account.passwordTitle}</h2>
      <p>${t.account.passwordLead}</p>
    </div>
    <form method="post" data-form="password" novalidate>
      <input type="text" name="username" autocomplete="username" value="${memberOf(context).email ?? ''}" hidden />
      <div class="field">
        <label for="current">${t.account.current}</label>
        <input id="current" name="current" type="password" autocomplete="current-password" />
      </div>
      ${proofField(context, 'password')}
      <div class="field">
        <label for="next">${t.account.next}</label>
        <input
          id="next"
          name="password"
          type="password"
          autocomplete="new-password"
          minlength="8"
          required
          aria-describedby="next-hint"
        />
        <p class="hint" id="next-hint">${t.signIn.passwordHint}</p>
      </div>
      <div class="form-end"><button class="button">${t.account.savePassword}</button></div>
      <div data-outcome></div>
    </form>
  </section>`
}

function deleteCard(context: PageContext, name: string): Html {
  const { t } = context
  return html`<section class="card pad" aria-labelledby="title-delete">
    <div class="card-head">
      <h2 id="title-delete">${t.account.deleteTitle}</h2>
      <p>${t.account.deleteLead}</p>
    </div>
    <button class="button danger-quiet" type="button" data-open-delete>${t.account.deleteButton}</button>
    <dialog class="dialog" aria-labelledby="delete-ask" data-delete>
      <form method="post" data-form="delete" novalidate>
        <h2 id="delete-ask">${t.account.deleteAsk}</h2>
        <p>${t.account.deleteLead}</p>
        <div class="field">
          <label for="delete-email">${fill(t.account.deleteConfirm, { email: name })}</label>
          <input id="delete-email" name="email" autocomplete="off" spellcheck="false" required />
        </div>
        <div class="field">
          <label for="delete-current">${t.account.current}</label>
          <input id="delete-current" name="current" type="password" autocomplete="current-password" />
        </div>
        ${proofField(context, 'delete')}
        <div data-outcome></div>
        <div class="form-end">
          <button class="button quiet" type="button" data-close>${t.common.cancel}</button>
          <button class="button danger">${t.account.deleteSure}</button>
        </div>
      </form>
    </dialog>
  </section>`
}
