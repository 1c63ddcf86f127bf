/** `/keys`: make a key, see it once, rename and revoke it. */
import { resolvePlan } from '../../../domain/billing/subscriptions/terms.ts'
import type { ApiKey } from '../../../domain/identity/api-key.ts'
import { GatewayError } from '../../../errors.ts'
import { readKeyUsage, unusedKey } from '../../../services/member-usage.ts'
import { createTooManyKeysError } from '../../../services/membership-errors.ts'
import type { ClientSetup, SetupFacts } from '../../../setup/client-setup.ts'
import { chooseModels, createClientSetups } from '../../../setup/client-setups.ts'
import { renderCodeBlock } from '../../components/code-block.ts'
import { renderDialog, renderDialogEnd } from '../../components/dialog.ts'
import { readText } from '../../components/forms/fields.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderEmptyState, renderFacts, renderRows } from '../../components/list.ts'
import { renderTime } from '../../components/time.ts'
import { formatCount, formatPastTime } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { fillText, interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageAction, PageContext, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'

const path = '/keys'
const maxNameChars = 64
const lifetimes = [30, 90, 365] as const

export async function createKeysView(context: PageContext): Promise<View> {
  return drawKeys(requireMember(context))
}

export const keyActions: Readonly<Record<string, PageAction>> = {
  async create(context, form) {
    const { services, viewer, member } = context
    const name = readText(form, 'name', maxNameChars)
    const days = lifetimes.find((each) => String(each) === form.fields.get('expires_in_days')) ?? null
    const createdKey = await services.membership.apiKeys.create(viewer.id, name, days, member.client)
    if (createdKey === undefined) throw createTooManyKeysError(services.config.limits.keysPerAccount)
    // No redirect: the key stands in this answer alone.
    return drawKeys(context, createdKey.token)
  },

  async rename({ services, viewer }, form) {
    const name = readText(form, 'name', maxNameChars)
    if (!(await services.membership.apiKeys.rename(viewer.id, form.subject, name))) throw new GatewayError('not_found')
    return { path, done: 'renamed' }
  },

  async revoke({ services, viewer, member }, { subject }) {
    if (!(await services.membership.apiKeys.revoke(viewer.id, subject, member.client))) throw new GatewayError('not_found')
    return { path, done: 'revoked' }
  },
}

async function drawKeys(context: MemberContext, token?: string): Promise<View> {
  const { t, services, viewer } = context
  const keys = await services.membership.apiKeys.list(viewer.id)
  const usage = await readKeyUsage(viewer.id, services)
  const isEnded = ({ revokedAt, expiresAt }: ApiKey): boolean =>
    revokedAt !== null || (expiresAt !== null && expiresAt <= services.clock.now())
  const renderKeys = (list: readonly ApiKey[]): Html =>
    renderRows(list, (key) => renderKey(context, key, usage.get(key.id) ?? unusedKey, isEnded(key)))
  const endedKeys = keys.filter(isEnded)
  const live = keys.filter((key) => !isEnded(key))
  return createMemberView(context, {
    title: t.keys.title,
    lead: t.keys.lead,
    content: html`${token === undefined ? renderCreateCard(context) : renderCreated(context, token)}
      <section class="card" aria-labelledby="title-list">
        <div class="card-head pad-head"><h2 id="title-list">${t.keys.listTitle}</h2></div>
        ${live.length === 0 ? renderEmptyState('key', t.keys.empty) : renderKeys(live)}
        ${
          endedKeys.length > 0 &&
          html`<details class="fold turn-filter">
            <summary>${interpolate(t.keys.ended, { count: endedKeys.length })}</summary>
            ${renderKeys(endedKeys)}
          </details>`
        }
      </section>`,
  })
}

function renderCreateCard(context: MemberContext): Html {
  const { keys: texts } = context.t
  const form = new PageForm(context, 'create')
  const attributes = html`maxlength="${maxNameChars}" required autocomplete="off" placeholder="${texts.nameHint}"`
  const days = lifetimes.map((each) => [String(each), interpolate(texts.inDays, { days: each })] as const)
  return html`<section class="card pad" aria-labelledby="title-new">
    <div class="card-head"><h2 id="title-new">${texts.newTitle}</h2></div>
    ${form.render({
      look: 'form-row',
      content: html`${form.renderField({ name: 'name', label: texts.name, attributes })}
        ${form.renderSelect('expires_in_days', texts.expiry, [['', texts.never], ...days])}
        <button class="button">${texts.create}</button>`,
    })}
  </section>`
}

/** The key is on the screen only now, so its settings for each program are here. */
function renderCreated(context: MemberContext, token: string): Html {
  const { keys: texts } = context.t
  const facts = createFacts(context)
  const request = `curl ${facts.apiUrl}/v1/chat/completions \\
  -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${facts.fast.id}", "messages": [{"role": "user", "content": "Hello"}]}'`
  const renderFold = (name: string, content: Html): Html =>
    html`<details class="fold" name="setup">
      <summary>${name}</summary>
      <div class="setup">${content}</div>
    </details>`
  return html`<section class="card pad created" aria-labelledby="title-created">
    <h2 id="title-created" tabindex="-1" autofocus>${texts.createdTitle}</h2>
    <p>${texts.createdLead}</p>
    ${renderCodeBlock(context, texts.key, token)}
    <h3>${texts.setUp}</h3>
    ${createClientSetups({ ...facts, key: token }).map((setup) => renderFold(setup.name, renderSetup(context, setup)))}
    ${renderFold('curl', renderCodeBlock(context, 'curl', request))}
    <p><a class="button quiet small" href="${path}">${texts.done}</a></p>
  </section>`
}

function renderSetup(context: PageContext, { files, dialog, fields, snippets, notes }: ClientSetup): Html {
  const { language } = context
  return html`${dialog !== undefined && html`<p class="sub">${dialog[language]}</p>`}
  ${fields.length > 0 && renderFacts(fields.map(({ label, value }) => [label, html`<code>${value}</code>`]))}
  ${files.map((file) => renderCodeBlock(context, file.path, file.text))}
  ${snippets.map(({ title, text }) => renderCodeBlock(context, title, text))}
  ${
    notes.length > 0 &&
    html`<ul class="setup-notes" role="list">
      ${notes.map((note) => html`<li>${note[language]}</li>`)}
    </ul>`
  }`
}

function renderKey(context: PageContext, key: ApiKey, usage: typeof unusedKey, isEnded: boolean): Html {
  const { keys: texts } = context.t
  const usedAmounts = {
    turns: formatCount(context, 'turns', usage.turns),
    credits: formatCount(context, 'credits', usage.credits),
  }
  const facts = [
    key.lastUsedAt === null ? texts.neverUsed : interpolate(texts.usedWhen, { when: formatPastTime(context, key.lastUsedAt) }),
    usage.turns === 0
      ? texts.noUsage
      : html`<a href="/account?credential=${encodeURIComponent(key.id)}#title-turns"
          >${interpolate(texts.usage, usedAmounts)}</a
        >`,
    fillText(texts.createdOn, { date: renderTime(context, key.createdAt, 'date') }),
    renderExpiry(context, key, isEnded),
  ]
  return html`<li class="key-row">
    <div class="key-facts">
      <p class="row-line">
        <strong class="row-cut">${key.name}</strong> <code class="sub nowrap">${key.prefix}…${key.last4}</code>
      </p>
      <p class="sub">${facts.map((fact, place) => html`${place > 0 && ' · '}${fact}`)}</p>
    </div>
    ${!isEnded && html`<div class="actions">${renderRename(context, key)} ${renderRevoke(context, key)}</div>`}
  </li>`
}

function renderExpiry(context: PageContext, { expiresAt, revokedAt }: ApiKey, isEnded: boolean): Html | string {
  const { keys: texts } = context.t
  if (isEnded) return html`<span class="badge bad">${revokedAt === null ? texts.expired : texts.revoked}</span>`
  if (expiresAt === null) return texts.neverExpires
  return fillText(texts.expiresOn, { date: renderTime(context, expiresAt, 'date') })
}

function renderRename(context: PageContext, { id, name }: ApiKey): Html {
  const { keys: texts } = context.t
  const form = new PageForm(context, 'rename', id)
  const attributes = html`maxlength="${maxNameChars}" required autocomplete="off"`
  return renderDialog({
    id: `rename-${id}`,
    opener: texts.rename,
    openerLabel: interpolate(texts.renameName, { name }),
    look: 'quiet small',
    title: interpolate(texts.renameName, { name }),
    isOpen: form.isRedrawn,
    content: form.render({
      content: html`${form.renderField({ name: 'name', label: texts.name, value: name, attributes })}
      ${renderDialogEnd(context, texts.save, '')}`,
    }),
  })
}

function renderRevoke(context: PageContext, { id, name }: ApiKey): Html {
  const { keys: texts } = context.t
  const form = new PageForm(context, 'revoke', id)
  return renderDialog({
    id: `revoke-${id}`,
    opener: texts.revoke,
    openerLabel: interpolate(texts.revokeName, { name }),
    look: 'danger-quiet small',
    title: interpolate(texts.revokeAsk, { name }),
    isOpen: form.isRedrawn,
    content: form.render({
      content: html`<p>${texts.revokeText}</p>
        ${renderDialogEnd(context, texts.revokeSure)}`,
    }),
  })
}

function createFacts({ services, viewer }: MemberContext): Omit<SetupFacts, 'key'> {
  const { origins, names, config, products, clock } = services
  const available = products.availableTo(resolvePlan(config, viewer), clock.now())
  const models = chooseModels(available) ?? chooseModels(products.all)
  const none = { id: 'auto', name: 'Auto', contextLength: 128_000, maxOutputTokens: 4_096, images: false }
  return { apiUrl: origins.base, slug: names.slug, serviceName: config.brand.name, ...(models ?? { main: none, fast: none }) }
}
