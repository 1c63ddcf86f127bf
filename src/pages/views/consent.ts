/** `/connect/…`: decide on a program that wants to use the tools. Opening the link approves nothing. */
import { GatewayError, invalidRequest } from '../../errors.ts'
import { readDecision, renderDecision, renderOwnWords, renderVerdict } from '../components/forms/approval.ts'
import { createCardView } from '../components/card-page.ts'
import { PageForm } from '../components/forms/form.ts'
import { renderFacts } from '../components/list.ts'
import { renderRefusal } from '../components/forms/refusal.ts'
import { formatRelativeTime } from '../format.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate, requireMember } from '../page.ts'
import type { ConsentRequest, MemberContext, PageAction, PageContext, View } from '../page.ts'

export const consentActions: Readonly<Record<string, PageAction>> = {
  async decide(context, { fields }) {
    const { t, consent } = context
    const decision = readDecision(fields)
    if (consent === null || decision === null)
      throw invalidRequest({ en: 'choose one of the buttons.', zh: '请选择批准或拒绝。' })
    const address = await consent.decide(decision)
    // A redirect would be refused: the content policy lets forms lead to this site alone, and the program is elsewhere.
    const back = html`<p><a href="${address}">${t.consent.back}</a></p>`
    return { ...drawPage(context, renderDecision(t.consent, decision, back)), refreshTo: address }
  },
}

export async function createConsentView(page: PageContext): Promise<View> {
  const context = requireMember(page)
  try {
    if (context.consent === null) throw new GatewayError('not_found')
    return drawPage(context, renderRequest(context, await context.consent.find()))
  } catch (failure) {
    if (!(failure instanceof GatewayError)) throw failure
    return { ...drawPage(context, renderRefusal(context, failure)), status: failure.status }
  }
}

function drawPage({ t }: MemberContext, content: Html): View {
  return createCardView({ title: t.consent.title, look: 'device', content })
}

function renderRequest(context: MemberContext, { name, home, redirect, expiresAt }: ConsentRequest): Html {
  const { viewer, path } = context
  const { consent: texts } = context.t
  const form = new PageForm(context, 'decide')
  return html`<h2 tabindex="-1" autofocus>${texts.askTitle}</h2>
    <p class="sub">${texts.askLead}</p>
    ${renderOwnWords(texts.ownWords, [
      [texts.program, name],
      [texts.home, home],
    ])}
    ${renderFacts([
      [
        texts.redirect,
        html`<span><code>${redirect.place}</code>${redirect.isLocal && html`<span class="sub"> · ${texts.local}</span>`}</span>`,
      ],
      [texts.account, viewer.email ?? viewer.id],
    ])}
    <p class="notice warn">${redirect.isLocal ? texts.localWarning : texts.warning}</p>
    ${form.render({ path: `${path.replace(/\/decision$/, '')}/decision`, content: renderVerdict(texts) })}
    <p class="fine">${interpolate(texts.expires, { when: formatRelativeTime(context, expiresAt) })}</p>`
}
