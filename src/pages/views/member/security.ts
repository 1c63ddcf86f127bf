/** `/account/security`: the address, the password, and the deletion of the account. */
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { findLongestKeepDays } from '../../../backup/thin-backups.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { PageContext, View } from '../../page.ts'
import { renderMemberPage } from './member-frame.ts'

export function createSecurityView(context: PageContext): View {
  const { account } = context.t
  const { viewer } = requireMember(context)
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
        ${renderEmailCard(context)} ${!context.services.config.signIn.providersOnly && renderPasswordCard(context)}
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

/** `?offer=` is the address that the provider gave at the last sign-in; the member decides. `?saved=email` follows a change. */
function renderEmailCard(context: PageContext): Html {
  const { t, query } = context
  const { account } = t
  const offer = query.get('offer') ?? ''
  const offered = isPlainAddress(offer) ? offer : ''
  const email = requireMember(context).viewer.email ?? '–'
  return html`<section class="card pad" aria-labelledby="title-email">
    <div class="card-head">
      <h2 id="title-email">${account.emailTitle}</h2>
      <p>${account.emailLead} ${interpolate(account.emailNow, { email })}</p>
    </div>
    ${query.get('saved') === 'email' && html`<p class="notice" role="status">${interpolate(account.emailSaved, { email })}</p>`}
    ${offered !== '' && html`<p class="notice">${interpolate(account.emailOffered, { email: offered })}</p>`}
    <form method="post" data-form="email" novalidate>
      <div class="field">
        <label for="new-email">${account.newEmail}</label>
        <input
          id="new-email"
          name="email"
          type="text"
          inputmode="email"
          pattern="[^@\\s]+@[^@\\s]+"
          value="${offered}"
          autocomplete="email"
          autocapitalize="none"
          spellcheck="false"
          maxlength="254"
          required
        />
      </div>
      <div class="field">
        <label for="email-current">${account.current}</label>
        <input id="email-current" name="current" type="password" autocomplete="current-password" />
      </div>
      ${renderReauthenticationField(context, 'email')}
      <div class="form-end"><button class="button">${account.sendEmailCode}</button></div>
      <div data-outcome></div>
    </form>
    <form method="post" data-form="email-code" novalidate hidden>
      <p class="notice" data-sent></p>
      <div class="field">
        <label for="email-change-code">${account.proofCode}</label>
        <input class="code" id="email-change-code" name="code" inputmode="numeric" autocomplete="one-time-code" required />
      </div>
      <div class="form-end"><button class="button">${account.saveEmail}</button></div>
      <div data-outcome></div>
    </form>
  </section>`
}

/** Anyone can link to this page, so nothing but an address is repeated on it. */
function isPlainAddress(text: string): boolean {
  return text.length <= 254 && /^[\w.+-]+@[\w.-]+$/.test(text)
}

function renderPasswordCard(context: PageContext): Html {
  const { t } = context
  return html`<section class="card pad" aria-labelledby="title-password">
    <div class="card-head">
      <h2 id="title-password">${t.account.passwordTitle}</h2>
      <p>${t.account.passwordLead}</p>
    </div>
    <form method="post" data-form="password" novalidate>
      <input type="text" name="username" autocomplete="username" value="${requireMember(context).viewer.email ?? ''}" hidden />
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
  const { t, services } = context
  const { backup } = services.config
  const days = backup === null ? null : findLongestKeepDays(backup.keep, backup.every)
  const lead = html`<p>
    ${t.account.deleteLead}${days !== null && ` ${interpolate(t.account.deleteBackups, { days: String(days) })}`}
  </p>`
  return html`<section class="card pad" aria-labelledby="title-delete">
    <div class="card-head">
      <h2 id="title-delete">${t.account.deleteTitle}</h2>
      ${lead}
    </div>
    <button class="button danger-quiet" type="button" data-open-delete>${t.account.deleteButton}</button>
    <dialog class="dialog" aria-labelledby="delete-ask" data-delete>
      <form method="post" data-form="delete" novalidate>
        <h2 id="delete-ask">${t.account.deleteAsk}</h2>
        ${lead}
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
