/** `/operator/money/codes/{id}`: one code, who redeemed it, and its end. */
import type { RedeemCode, Redemption } from '../../../../domain/billing/redeem-code.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderEmptyState, renderFacts } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { renderActionForm } from '../action-form.ts'
import { createOperatorView } from '../operator-frame.ts'
import { renderMember } from '../turns/turn-table.ts'
import { codeActions, findCode } from './code-actions.ts'
import { nameGift, renderCodeState } from './code-text.ts'
import { renderMoneyTabs } from './money-tabs.ts'

const maxRedemptions = 100

export async function createCodeView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, services, language } = context
  const { codes: texts } = t.console
  const code = await findCode(context)
  const redemptions = await services.store.redeemCodes.listRedemptions(code.id, maxRedemptions)
  return createOperatorView(context, {
    title: interpolate(texts.codeTitle, { code: `${code.prefix}…` }),
    end: renderCodeState(context, code),
    content: html`${renderMoneyTabs(context, 'codes')}
      <section class="card pad" aria-label="${texts.facts}">
        ${renderFacts([
          [texts.id, html`<code class="breakable">${code.id}</code>`],
          [texts.gives, nameGift(context, code.gift)],
          [
            texts.used,
            interpolate(texts.usedOf, { uses: formatNumber(code.uses, language), max: formatNumber(code.maxUses, language) }),
          ],
          [texts.batch, code.batch],
          [texts.made, renderTime(context, code.createdAt)],
          [texts.expires, code.expiresAt === null ? t.console.member.noEnd : renderTime(context, code.expiresAt)],
          [texts.revokedAt, code.revokedAt === null ? null : renderTime(context, code.revokedAt)],
        ])}
        ${renderActions(context, code)}
      </section>
      <section class="card">
        <div class="card-head pad-head"><h2>${texts.redeemedBy}</h2></div>
        ${redemptions.length === 0 ? renderEmptyState('list', texts.notRedeemed) : renderRedemptions(context, redemptions)}
        ${
          code.uses > maxRedemptions &&
          html`<p class="sub pad-rest">${interpolate(texts.firstOnes, { count: formatNumber(maxRedemptions, language) })}</p>`
        }
      </section>`,
  })
}

function renderActions(context: OperatorContext, code: RedeemCode): Html {
  const { codes: texts } = context.t.console
  const isOpen = code.revokedAt === null && code.uses < code.maxUses
  const shared = { actions: codeActions, lead: texts.revokeLead, isDanger: true } as const
  if (!isOpen && code.batch === null) return html``
  return html`<div class="console-actions">
    ${
      isOpen &&
      renderActionForm(context, {
        ...shared,
        action: 'revoke',
        opener: texts.revoke,
        title: interpolate(texts.revokeTitle, { code: `${code.prefix}…` }),
      })
    }
    ${
      code.batch !== null &&
      renderActionForm(context, {
        ...shared,
        action: 'revoke_batch',
        opener: texts.revokeBatch,
        title: interpolate(texts.revokeBatchTitle, { batch: code.batch }),
      })
    }
  </div>`
}

function renderRedemptions(context: OperatorContext, redemptions: readonly Redemption[]): Html {
  const { codes: texts, members } = context.t.console
  return renderDataTable({
    label: texts.redeemedBy,
    columns: [{ title: members.member }, { title: texts.redeemedAt }, { title: context.t.console.orders.gave }],
    rows: redemptions.map(({ account, at, subscription, pack }) => ({
      cells: [
        renderMember(context, account),
        renderTime(context, at),
        html`<code class="breakable">${subscription ?? pack ?? ''}</code>`,
      ],
    })),
  })
}
