/**
 * `/sign-in`: mail code, password, sign-up, providers. The scripts send the forms as JSON; where they do not run, `method="post"` keeps a
 * password out of the address.
 */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { fill } from '../page.ts'
import type { PageContext, View } from '../page.ts'
import { returnPath } from '../return-path.ts'

type Way = 'code' | 'password' | 'sign-up'

export function signInView(context: PageContext): View {
  const { t, query, services } = context
  const next = returnPath(query.get('next'))
  const invite = inviteFrom(query)
  const title = invite === '' ? t.signIn.title : t.signIn.titleInvited
  const { signUp } = services.config.signIn
  const lead = invite === '' ? (query.has('next') ? t.signIn.leadNext : t.signIn.lead) : t.signIn.leadInvited
  return {
    title,
    main: html`<section class="shell split">
      <div class="card pad sign-in">
        <h1>${title}</h1>
        <p class="sub">${signUp === 'closed' ? t.signIn.leadClosed : lead}</p>
        ${whoMayJoin(context)} ${providerFailure(context)}
        <div class="tabs" role="tablist" aria-label="${t.signIn.ways}">
          ${tab('code', t.signIn.byCode, true)} ${tab('password', t.signIn.byPassword)}
          ${signUp !== 'closed' && tab('sign-up', t.signIn.signUp)}
        </div>
        ${panel('code', true, codeForms(context, invite))} ${panel('password', false, passwordForm(context))}
        ${signUp !== 'closed' && panel('sign-up', false, signUpForms(context, invite))} ${providers(context, next, invite)}
      </div>
      <aside class="sign-in-aside" aria-label="${t.signIn.asideTitle}">
        <h2>${t.signIn.asideTitle}</h2>
        <ul class="ticks">
          ${t.signIn.aside.map((line) => html`<li>${line}</li>`)}
        </ul>
      </aside>
    </section>`,
    script: { name: 'sign-in', texts: { signIn: t.signIn }, told: { next, signUp: signUp !== 'closed' } },
  }
}

/** What a newcomer must know before they try. */
function whoMayJoin({ t, services }: PageContext): Html {
  const { signUp, allowedDomains } = services.config.signIn
  if (signUp === 'closed') return html``
  const domains =
    allowedDomains.length > 0 && html`<p class="notice">${fill(t.signIn.domains, { domains: allowedDomains.join(', ') })}</p>`
  return html`${signUp === 'invited' && html`<p class="notice">${t.signIn.invitedOnly}</p>`} ${domains}`
}

function providerFailure({ t, query }: PageContext): Html {
  const code = query.get('error')
  if (code === null) return html``
  const told = Object.hasOwn(t.signIn.providerFailed, code)
    ? t.signIn.providerFailed[code]
    : t.signIn.providerFailed['provider_failed']
  return html`<p class="notice bad" role="alert">${told}</p>`
}

/** An invitation comes in a link, so only what can be one is repeated on the page. */
function inviteFrom(query: URLSearchParams): string {
  const invite = query.get('invite') ?? ''
  return /^[\w-]{1,64}$/.test(invite) ? invite : ''
}

function tab(way: Way, label: string, selected = false): Html {
  return html`<button
    type="button"
    role="tab"
    id="tab-${way}"
    aria-controls="panel-${way}"
    aria-selected="${selected ? 'true' : 'false'}"
    tabindex="${selected ? 0 : -1}"
  >
    ${label}
  </button>`
}

function panel(way: Way, selected: boolean, content: Html): Html {
  return html`<div role="tabpanel" id="panel-${way}" aria-labelledby="tab-${way}" ${!selected && html`hidden`}>${content}</div>`
}

function codeForms(context: PageContext, invite: string): Html {
  const { t } = context
  return html`<form method="post" data-form="otp-start" novalidate>
      ${emailField(context, 'code')} ${inviteField(context, invite, 'code')}
      <div class="form-end"><button class="button block">${t.signIn.sendCode}</button></div>
      <div data-outcome></div>
    </form>
    ${codeForm(context, 'otp-verify')}`
}

function codeForm({ t }: PageContext, name: string): Html {
  return html`<form method="post" data-form="${name}" novalidate hidden>
    <p class="notice" data-sent></p>
    <div class="field">
      <label for="${name}-code">${t.signIn.code}</label>
      <input class="code" id="${name}-code" name="code" inputmode="numeric" autocomplete="one-time-code" required />
    </div>
    <div class="form-end"><button class="button block">${t.signIn.verify}</button></div>
    <div data-outcome></div>
    <p class="form-links">
      <button class="link-button" type="button" data-again disabled>${t.signIn.again}</button>
      <button class="link-button" type="button" data-back>${t.signIn.otherAddress}</button>
    </p>
  </form>`
}

function passwordForm(context: PageContext): Html {
  const { t } = context
  return html`<form method="post" data-form="password" novalidate>
    ${emailField(context, 'password')}
    <div class="field">
      <label for="password-password">${t.signIn.password}</label>
      <input id="password-password" name="password" type="password" autocomplete="current-password" required />
    </div>
    <div class="form-end"><button class="button block">${t.signIn.signInButton}</button></div>
    <div data-outcome></div>
  </form>`
}

function signUpForms(context: PageContext, invite: string): Html {
  const { t } = context
  return html`<form method="post" data-form="sign-up" novalidate>
      ${emailField(context, 'sign-up')}
      <div class="field">
        <label for="sign-up-password">${t.signIn.newPassword}</label>
        <input
          id="sign-up-password"
          name="password"
          type="password"
          autocomplete="new-password"
          minlength="8"
          required
          aria-describedby="sign-up-hint"
        />
        <p class="hint" id="sign-up-hint">${t.signIn.passwordHint}</p>
      </div>
      ${inviteField(context, invite, 'sign-up')}
      <div class="form-end"><button class="button block">${t.signIn.signUpButton}</button></div>
      <div data-outcome></div>
    </form>
    ${codeForm(context, 'sign-up-verify')}`
}

function emailField({ t }: PageContext, form: string): Html {
  return html`<div class="field">
    <label for="${form}-email">${t.signIn.email}</label>
    <input
      id="${form}-email"
      name="email"
      type="email"
      autocomplete="${form === 'password' ? 'username' : 'email'}"
      autocapitalize="none"
      spellcheck="false"
      maxlength="254"
      required
    />
  </div>`
}

function inviteField({ t, services }: PageContext, invite: string, form: string): Html {
  // Somebody who was not invited is not asked about it where they most likely only sign in.
  const needed = services.config.signIn.signUp === 'invited'
  if (invite === '' && form === 'code' && !needed) return html``
  return html`<div class="field">
    <label for="${form}-invite"
      >${invite === '' && !(needed && form === 'sign-up') ? t.signIn.invite : t.signIn.inviteGiven}</label
    >
    <input id="${form}-invite" name="invite" value="${invite}" autocomplete="off" spellcheck="false" maxlength="64" />
  </div>`
}

function providers({ t, services }: PageContext, next: string, invite: string): Html {
  const named = Object.entries(services.config.signIn.providers)
  if (named.length === 0) return html``
  const to = (id: string): string =>
    `/api/membership/auth/oauth/${encodeURIComponent(id)}/start?${new URLSearchParams({ next, ...(invite === '' ? {} : { invite }) })}`
  return html`<p class="or"><span>${t.signIn.or}</span></p>
    <div class="providers">
      ${named.map(
        ([id, { name }]) => html`<a class="button quiet block" href="${to(id)}">${fill(t.signIn.withProvider, { name })}</a>`,
      )}
    </div>`
}
