/** `/device`: compare and approve a sign-in that was started elsewhere. Opening the link approves nothing and claims no code. */
import type { DeviceLoginView } from '../../domain/services/sign-in/device-login-service.ts'
import { invalidRequest } from '../../errors.ts'
import { createUnknownCodeError } from '../../services/membership-errors.ts'
import { readDecision, renderDecision, renderOwnWords, renderVerdict } from '../components/forms/approval.ts'
import { createCardView } from '../components/card-page.ts'
import { readText } from '../components/forms/fields.ts'
import { PageForm } from '../components/forms/form.ts'
import { renderFacts } from '../components/list.ts'
import { renderTime } from '../components/time.ts'
import { formatPastTime, formatRelativeTime } from '../format.ts'
import { html, renderAddress } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate, requireMember } from '../page.ts'
import type { MemberContext, PageAction, PageContext, View } from '../page.ts'
import { parseDeviceCode } from '../pasted-code.ts'

const path = '/device'
const maxCodeChars = 64

export const deviceActions: Readonly<Record<string, PageAction>> = {
  async lookup(context, form) {
    const { services, viewer, member } = context
    const code = parseDeviceCode(readText(form, 'user_code', maxCodeChars))
    const device = await services.membership.deviceLogins.inspect(code, viewer, member.client)
    if (device === undefined) throw createUnknownCodeError()
    return drawPage(context, renderDevice(context, device))
  },

  async decide(context, { subject, fields }) {
    const { t, services, viewer, member } = context
    const decision = readDecision(fields)
    if (decision === null) throw invalidRequest({ en: 'choose one of the buttons.', zh: '请选择批准或拒绝。' })
    const login = await services.membership.deviceLogins.decide(subject, decision, viewer, member.client)
    if (login === undefined) throw createUnknownCodeError()
    return drawPage(context, renderDecision(t.device, decision))
  },
}

export function createDeviceView(context: PageContext): View {
  const { t, query, redrawn } = context
  const givenCode = (query.get('user_code') ?? '').toUpperCase()
  const code = /^[A-Z0-9]{4}-?[A-Z0-9]{4}$/.test(givenCode) ? givenCode : ''
  // A decision that was refused is followed by another code.
  const form = new PageForm({ ...context, redrawn: redrawn && { ...redrawn, action: 'lookup', subject: '' } }, 'lookup')
  const attributes = html`class="code" autocomplete="off" autocapitalize="characters" spellcheck="false" placeholder="XXXX-XXXX"
  required`
  return drawPage(
    requireMember(context),
    form.render({
      path: code === '' ? path : toCodePath(code),
      // With a script a code of the address is looked up at once.
      submitsItself: code !== '' && !form.isRedrawn,
      content: html`<p class="lead">${t.device.enterLead}</p>
        ${form.renderField({ name: 'user_code', label: t.device.code, value: code, attributes })}
        <div class="form-end"><button class="button block">${t.device.next}</button></div>`,
    }),
  )
}

/** The code stays in the address, so that a sign-in in between leads back to it. */
function toCodePath(code: string): string {
  return `${path}?user_code=${code}`
}

function drawPage({ t }: MemberContext, content: Html): View {
  return createCardView({ title: t.device.title, look: 'device', content })
}

function renderDevice(context: MemberContext, { login, sameNetwork }: DeviceLoginView): Html {
  const { viewer } = context
  const { device: texts } = context.t
  const { userCode, startedAt } = login
  return html`<h2 tabindex="-1" autofocus>${texts.compareTitle}</h2>
    <p class="sub">${texts.compareLead}</p>
    <p class="user-code" aria-label="${[...userCode].join(' ')}">${userCode}</p>
    ${renderOwnWords(texts.ownWords, [
      [texts.client, [login.client, login.clientVersion].filter(Boolean).join(' ')],
      [texts.host, login.hostname ?? texts.unknown],
    ])}
    ${renderFacts([
      [
        texts.address,
        html`<span
          >${renderAddress(login.address)}${sameNetwork && html`<span class="sub"> · ${texts.sameNetwork}</span>`}</span
        >`,
      ],
      [texts.started, html`<span>${renderTime(context, startedAt)} · ${formatPastTime(context, startedAt)}</span>`],
      [texts.account, viewer.email ?? viewer.id],
    ])}
    ${!sameNetwork && html`<p class="notice bad">${texts.otherNetwork}</p>`}
    <p class="notice warn">${texts.warning}</p>
    ${new PageForm(context, 'decide', userCode).render({ path: toCodePath(userCode), content: renderVerdict(texts) })}
    <p class="fine">${interpolate(texts.expires, { when: formatRelativeTime(context, login.expiresAt) })}</p>`
}
