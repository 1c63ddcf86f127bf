/** `/account/security`: the password, and the deletion of the account. */
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { PageContext, View } from '../../page.ts'
import { renderMemberPage } from './member-frame.ts'

export function createSecurityView(context: PageContext): View {
  const { account } = context.t
  const viewer = requireMember(context)
  return {
    title: account.rail.security,
    styles: 'account.css',
    main: renderMemberPage(
      context,
      html`<header class="page-head">
          <div>
            <h1>${account.rail.security}</h1>
            <p class="sub">${account.securityLead} <a href="/sessions">${account.rail.sessions}</a></p>
          </div>
        </header>
        ${!context.services.config.signIn.providersOnly && renderPasswordCard(context)}
        ${renderDeleteCard(context, viewer.email ?? viewer.id)}`,
    ),
    script: { name: 'security', texts: { account }, props: {} },
  }
}

/** Where a code is entered when there is no password, or it is forgotten: shown once the code has been sent. */
function renderReauthenticationField({ t }: PageContext, form: string): Html {
  return html`<p class="form-links"><button class="link-button" type="button" data-prove>${t.account.proofInstead}</button></p>
    <div class="field" data-proof hidden>
      <label for="${form}-code">${t.account.proofCode}</label>
      <input class="code" id="${form}-code" name="code" inputmode="numeric" autocomplete="one-time-code" />
    </div>`
}

function renderPasswordCard(context: PageContext): Html {
  const { t } = context
  return html`<section class="card pad" aria-labelledby="title-password">
    <div class="card-head">
      <h2 id="title-password">${t.account.passwordTitle}</h2>
      <p>${t.account.passwordLead}</p>
    </div>
    <form method="post" data-form="password" novalidate>
      <input type="text" name="username" autocomplete="username" value="${requireMember(context).email ?? ''}" hidden />
      <div class="field">
        <label for="current">${t.account.current}</label>
        <input id="current" name="current" type="password" autocomplete="current-password" />
      </div>
      ${renderReauthenticationField(context, 'password')}
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

function renderDeleteCard(context: PageContext, name: string): Html {
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
          <label for="delete-email">${interpolate(t.account.deleteConfirm, { email: name })}</label>
          <input id="delete-email" name="email" autocomplete="off" spellcheck="false" required />
        </div>
        <div class="field">
          <label for="delete-current">${t.account.current}</label>
          <input id="delete-current" name="current" type="password" autocomplete="current-password" />
        </div>
        ${renderReauthenticationField(context, 'delete')}
        <div data-outcome></div>
        <div class="form-end">
          <button class="button quiet" type="button" data-close>${t.common.cancel}</button>
          <button class="button danger">${t.account.deleteSure}</button>
        </div>
      </form>
    </dialog>
  </section>`
}
