/** How a member gets in: API keys, sessions, and linked sign-in providers. */
import type { Account } from '../../../../domain/identity/account.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderRows } from '../../../components/list.ts'
import { nameSignInProvider } from '../../../components/sign-in-provider-name.ts'
import { renderPastTime, renderTime } from '../../../components/time.ts'
import { html, renderAddress } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { renderActionForm } from '../action-form.ts'
import { memberActions as actions } from './member-actions.ts'

/** A question for each of more keys would make the page heavy; the API lists all. */
const maxShown = 30

export async function renderKeys(context: OperatorContext, account: Account): Promise<Html> {
  const { t, services } = context
  const { member: texts } = t.console
  const keys = (await services.membership.apiKeys.list(account.id)).slice(0, maxShown)
  if (keys.length === 0) return html``
  return html`<section class="card">
    <div class="card-head pad-head"><h2 id="title-keys">${texts.keys}</h2></div>
    ${renderDataTable({
      label: texts.keys,
      columns: [{ title: texts.key }, { title: texts.made }, { title: texts.lastUsed }, { title: texts.revoke, isHidden: true }],
      rows: keys.map(({ id, name, prefix, last4, createdAt, lastUsedAt, revokedAt }) => ({
        cells: [
          html`<span class="breakable">${name}</span> <code class="sub">${prefix}…${last4}</code>`,
          renderTime(context, createdAt, 'date'),
          lastUsedAt === null ? html`${texts.never}` : renderPastTime(context, lastUsedAt),
          revokedAt === null
            ? renderActionForm(context, {
                actions,
                action: 'revoke_key',
                subject: id,
                opener: texts.revoke,
                openerLabel: interpolate(texts.revokeName, { name }),
                title: interpolate(texts.revokeTitle, { name }),
                isDanger: true,
              })
            : html`<span class="badge">${texts.revoked}</span>`,
        ],
      })),
    })}
  </section>`
}

export async function renderSessions(context: OperatorContext, account: Account): Promise<Html> {
  const { t, services } = context
  const { sessions: texts } = t
  const sessions = (await services.membership.sessions.list(account.id)).slice(0, maxShown)
  if (sessions.length === 0) return html``
  return html`<section class="card">
    <div class="card-head pad-head"><h2 id="title-sessions">${texts.title}</h2></div>
    ${renderDataTable({
      label: texts.title,
      columns: [{ title: texts.device }, { title: texts.address }, { title: texts.started }, { title: texts.lastSeen }],
      rows: sessions.map(({ kind, client, address, createdAt, lastUsedAt }) => ({
        cells: [
          html`<span class="session-name">
            <span class="badge ${kind === 'cli' ? 'flagship' : 'light'}">${texts[kind]}</span> <span>${client}</span>
          </span>`,
          renderAddress(address),
          renderTime(context, createdAt, 'date'),
          renderPastTime(context, lastUsedAt),
        ],
      })),
    })}
  </section>`
}

export async function renderProviders(context: OperatorContext, account: Account): Promise<Html> {
  const { t, services } = context
  const { member: texts } = t.console
  const providers = await services.store.providerIdentities.listProviders(account.id)
  if (providers.length === 0) return html``
  return html`<section class="card" aria-labelledby="title-providers">
    <div class="card-head pad-head"><h2 id="title-providers">${texts.providers}</h2></div>
    ${renderRows(providers, (provider) => {
      const name = nameSignInProvider(services, provider)
      return html`<li class="log-row">
        <p class="row-line"><strong class="breakable">${name}</strong> <code class="sub">${provider}</code></p>
        ${renderActionForm(context, {
          actions,
          action: 'unlink',
          subject: provider,
          opener: texts.unlink,
          openerLabel: interpolate(texts.unlinkName, { name }),
          title: interpolate(texts.unlinkTitle, { name }),
          lead: texts.unlinkLead,
          isDanger: true,
        })}
      </li>`
    })}
  </section>`
}
