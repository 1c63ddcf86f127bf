/** `/device`: compare and approve a sign-in that was started elsewhere. Opening the link approves nothing. */
import { html } from '../html.ts'
import { requireMember } from '../page.ts'
import type { PageContext, View } from '../page.ts'

export function createDeviceView(context: PageContext): View {
  const { t, query } = context
  const { viewer } = requireMember(context)
  const given = (query.get('user_code') ?? '').toUpperCase()
  const code = /^[A-Z0-9]{4}-?[A-Z0-9]{4}$/.test(given) ? given : ''
  return {
    title: t.device.title,
    styles: 'sign-in.css',
    main: html`<section class="shell centre">
      <div class="card pad device">
        <h1>${t.device.title}</h1>
        <form method="post" data-form="lookup" novalidate ${code !== '' && html`hidden`}>
          <p class="lead">${t.device.enterLead}</p>
          <div class="field">
            <label for="user-code">${t.device.code}</label>
            <input
              class="code"
              id="user-code"
              name="user_code"
              value="${code}"
              autocomplete="off"
              autocapitalize="characters"
              spellcheck="false"
              placeholder="XXXX-XXXX"
              required
            />
          </div>
          <div class="form-end"><button class="button block">${t.device.next}</button></div>
        </form>
        <div data-outcome role="status">${code !== '' && html`<p class="sub loading">${t.device.looking}</p>`}</div>
        <div data-request></div>
      </div>
    </section>`,
    script: { name: 'device', texts: { device: t.device }, props: { code, account: viewer.email ?? viewer.id } },
  }
}
