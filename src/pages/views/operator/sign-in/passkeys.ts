/** The operator's passkeys on `/operator/session`: a list, adding one with a script, and removing one. */
import type { Passkey } from '../../../../domain/identity/operators/passkeys.ts'
import { maxPasskeyNameChars } from '../../../../domain/services/operators/passkey-service.ts'
import { GatewayError } from '../../../../errors.ts'
import { readPasskeyAnswer, renderPasskeyButton } from '../../../components/forms/console-proof.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderDialog, renderDialogEnd } from '../../../components/dialog.ts'
import { createErrorInWords, readText } from '../../../components/forms/fields.ts'
import { PageForm } from '../../../components/forms/form.ts'
import { renderTime } from '../../../components/time.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorActions, OperatorContext } from '../../../page.ts'
import { consoleSections } from '../sections.ts'

const { path } = consoleSections.session

export const passkeyActions: OperatorActions = {
  add_passkey: {
    access: { scope: null, needsStepUp: true },
    async run({ operator, services, browser }, form) {
      const { actor } = operator
      if (actor.kind !== 'session') throw new GatewayError('permission_denied')
      const { account, session } = actor
      const name = readText(form, 'name', maxPasskeyNameChars)
      const answer = readPasskeyAnswer(form)
      if (answer === null) throw createErrorInWords('invalid_request', 'name', (t) => t.operator.passkeyNeedsButton)
      const result = await services.membership.passkeys.add(
        account,
        { session, name, answer },
        { actor, client: browser.client, reason: null },
      )
      if (result === 'added') return { path, done: 'passkey_added' }
      throw createErrorInWords('invalid_request', 'name', (t) => t.operator.passkeyRefusals[result])
    },
  },

  remove_passkey: {
    access: { scope: null, needsStepUp: true },
    async run({ operator, services, browser }, { subject }) {
      const { actor } = operator
      if (actor.kind !== 'session') throw new GatewayError('permission_denied')
      const author = { actor, client: browser.client, reason: null }
      if (!(await services.membership.passkeys.remove(actor.account, subject, author))) throw new GatewayError('not_found')
      return { path, done: 'passkey_removed' }
    },
  },
}

/** With `isFresh` they can be changed; a shell has none. */
export async function renderPasskeys(context: OperatorContext, isFresh: boolean): Promise<Html> {
  const { t, operator, services } = context
  const { passkeys } = services.membership
  if (operator.actor.kind !== 'session') return html``
  const { operator: texts } = t
  const list = await passkeys.list(operator.actor.account)
  return html`<section class="card pad">
    <div class="card-head"><h2>${texts.passkeys}</h2></div>
    <p>${texts.passkeysLead}</p>
    ${list.length > 0 && renderList(context, list, isFresh)}
    ${!passkeys.isAvailable() ? html`<p class="hint">${texts.passkeysNeedName}</p>` : isFresh && renderAddition(context)}
  </section>`
}

function renderList(context: OperatorContext, list: readonly Passkey[], isFresh: boolean): Html {
  const { operator: texts } = context.t
  return renderDataTable({
    label: texts.passkeys,
    columns: [
      { title: texts.passkeyName },
      { title: texts.passkeyAdded },
      { title: texts.passkeyUsed },
      { title: texts.remove, isHidden: true },
    ],
    rows: list.map(({ id, name, createdAt, lastUsedAt }) => ({
      cells: [
        html`${name}`,
        renderTime(context, createdAt),
        lastUsedAt === null ? html`${texts.passkeyUnused}` : renderTime(context, lastUsedAt),
        isFresh ? renderRemoval(context, id, name) : html``,
      ],
    })),
  })
}

function renderRemoval(context: OperatorContext, id: string, name: string): Html {
  const { operator: texts } = context.t
  const form = new PageForm(context, 'remove_passkey', id)
  return renderDialog({
    id: `ask-remove-${id}`,
    opener: texts.remove,
    openerLabel: interpolate(texts.removePasskey, { name }),
    look: 'danger-quiet small',
    title: interpolate(texts.removePasskey, { name }),
    isOpen: form.isRedrawn,
    content: form.render({
      path,
      content: html`<p>${texts.removePasskeyLead}</p>
        ${renderDialogEnd(context, texts.remove)}`,
    }),
  })
}

function renderAddition(context: OperatorContext): Html {
  const { operator: texts } = context.t
  const form = new PageForm(context, 'add_passkey')
  // Enter in the field presses the first button, which is disabled: the answer comes from the authenticator.
  return form.render({
    path,
    content: html`<button hidden disabled></button>
      ${form.renderField({
        name: 'name',
        label: texts.passkeyName,
        hint: texts.passkeyNameHint,
        attributes: html`maxlength="${maxPasskeyNameChars}" autocomplete="off" required`,
      })}
      ${renderPasskeyButton(context, 'register', texts.addPasskey)}
      <p class="hint" data-passkey-missing>${texts.passkeysNeedScript}</p>`,
  })
}
