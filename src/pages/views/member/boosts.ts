/** `/account/boosts`: extra credits: check-in, rush, invitation, and the packs that are left. */
import { isPurchasedPack, noEndAt } from '../../../domain/billing/orders/order.ts'
import type { Pack } from '../../../domain/billing/ledger.ts'
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import { getBalance } from '../../../services/member-usage.ts'
import { createBoostUnavailableError } from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import { renderCopyField } from '../../components/code-block.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderEmptyState } from '../../components/list.ts'
import { renderStat } from '../../components/stat.ts'
import { formatCount, formatNumber, formatRelativeTime } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { fillText, interpolate, requireMember } from '../../page.ts'
import type { PageAction, PageContext, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'

const path = '/account/boosts'
const tiers = ['fast', 'premium'] as const

type Status = Awaited<ReturnType<Services['boosts']['status']>>

const takeBoost =
  (kind: 'checkin' | 'rush_grab'): PageAction =>
  async ({ services, viewer }) => {
    const { attemptLimits, boosts } = services.membership
    await attemptLimits.consume('boost-by-account', viewer.id, services.clock.now())
    const pack = await (kind === 'checkin' ? boosts.checkIn(viewer) : boosts.grabRush(viewer))
    if (pack === undefined) throw createBoostUnavailableError(kind)
    return { path, done: 'granted' }
  }

export const boostActions: Readonly<Record<string, PageAction>> = {
  checkin: takeBoost('checkin'),
  rush_grab: takeBoost('rush_grab'),
}

export async function createBoostsView(context: PageContext): Promise<View> {
  const { services, viewer, language } = requireMember(context)
  const { account: texts } = context.t
  const { packs } = await getBalance(viewer, services)
  const { checkin, invite, rush } = await services.boosts.status(viewer)
  const sumRemaining = (pool: Pool): number =>
    packs.reduce((sum, pack) => (pack.pool === pool ? sum + getRemaining(pack) : sum), 0)
  const inviteText = interpolate(texts.inviteText, { credits: formatNumber(invite.amount.credits, language) })
  const inviteCount = { credited: formatNumber(invite.credited, language), limit: formatNumber(invite.limit, language) }
  return createMemberView(context, {
    title: texts.boostsTitle,
    lead: texts.boostsLead,
    content: html`<section class="card pad" aria-label="${texts.boostsTitle}">
      <div class="stats">
        ${tiers.map((pool) => {
          const credits = html`<strong>${formatCount(context, 'credits', sumRemaining(pool))}</strong>`
          return renderStat(texts[pool], fillText(texts.balance, { credits }))
        })}
      </div>
      <div class="boost-list">
        ${renderCheckin(context, checkin)} ${renderRush(context, rush)}
        <div class="boost-row">
          <div>
            <h2 class="row-title">${context.t.redeem.title}</h2>
            <p class="sub">${context.t.redeem.lead}</p>
          </div>
          <a class="button quiet small" href="/redeem">${context.t.redeem.code}</a>
        </div>
        ${services.orders !== null && services.config.packs.length > 0 && renderPacksForSale(context)}
        <div class="boost-row stacked">
          <div>
            <h2 class="row-title">${texts.invite}</h2>
            <p class="sub">${inviteText} ${interpolate(texts.inviteCount, inviteCount)}</p>
          </div>
          ${renderCopyField(context, texts.inviteLink, `${services.origins.site}/sign-in?invite=${invite.code}`)}
        </div>
      </div>
      ${
        packs.length === 0
          ? renderEmptyState('pack', texts.noPacks)
          : html`<ul class="packs" role="list">
              ${packs.map((pack) => renderPack(context, pack))}
            </ul>`
      }
    </section>`,
  })
}

function renderPacksForSale({ t }: PageContext): Html {
  return html`<div class="boost-row">
    <div>
      <h2 class="row-title">${t.plans.packsTitle}</h2>
      <p class="sub">${t.plans.packsLead}</p>
    </div>
    <a class="button quiet small" href="/plans#packs">${t.plans.buy.pack}</a>
  </div>`
}

function renderCheckin(context: PageContext, { available, amount, nextAt }: Status['checkin']): Html {
  const { account: texts } = context.t
  const text = available
    ? interpolate(texts.checkinText, { credits: formatCount(context, 'credits', amount.credits) })
    : interpolate(texts.checkinDone, { when: formatRelativeTime(context, nextAt) })
  return renderBoost(context, { action: 'checkin', title: texts.checkin, text, button: available ? texts.checkinButton : null })
}

function renderRush(context: PageContext, rush: Status['rush']): Html {
  const { account: texts } = context.t
  const draw = (text: string, button: string | null = null): Html =>
    renderBoost(context, { action: 'rush_grab', title: texts.rush, text, button })
  if (rush?.active === true) {
    const values = { packs: formatCount(context, 'packs', rush.remaining), when: formatRelativeTime(context, rush.endsAt) }
    return draw(interpolate(texts.rushText, values), rush.remaining > 0 && !rush.taken ? texts.rushButton : null)
  }
  if (rush === null || rush.startsAt <= context.services.clock.now()) return draw(texts.rushClosed)
  return draw(interpolate(texts.rushNext, { when: formatRelativeTime(context, rush.startsAt) }))
}

interface BoostRow {
  readonly action: keyof typeof boostActions
  readonly title: string
  readonly text: string
  /** Null: there is nothing to take. */
  readonly button: string | null
}

/** A refusal stands at the row, also when its button is gone. */
function renderBoost(context: PageContext, { action, title, text, button }: BoostRow): Html {
  const form = new PageForm(context, action)
  return html`<div class="boost-row">
    <div>
      <h2 class="row-title">${title}</h2>
      <p class="sub">${text}</p>
    </div>
    ${(button !== null || form.isRedrawn) && form.render({ content: html`${button !== null && html`<button class="button small">${button}</button>`}` })}
  </div>`
}

function getRemaining({ granted, reserved, settled }: Pack): number {
  return granted - reserved - settled
}

function renderPack(context: PageContext, pack: Pack): Html {
  const { account: texts } = context.t
  const { language } = context
  const amounts = { remaining: formatNumber(getRemaining(pack), language), granted: formatNumber(pack.granted, language) }
  return html`<li>
    <span class="badge ${pack.pool === 'fast' ? 'light' : 'flagship'}">${texts[pack.pool]}</span>
    <strong>${isPurchasedPack(pack) ? texts.boughtPack : texts.pack[pack.kind]}</strong>
    <span>${interpolate(texts.packLeft, amounts)}</span>
    <span class="sub"
      >${
        pack.expiresAt >= noEndAt
          ? texts.noEnd
          : interpolate(texts.expires, { when: formatRelativeTime(context, pack.expiresAt) })
      }</span
    >
  </li>`
}
