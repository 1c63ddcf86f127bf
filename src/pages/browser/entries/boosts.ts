/** Boosts: claimed here, and the packs that are left. */
import './site.ts'
import { formatCount, formatNumber, formatRelativeTime } from '../format.ts'
import type { Child } from '../page.ts'
import { createCopyField, createElement, findElement, getTexts, interpolate } from '../page.ts'
import { callApi } from '../api-client.ts'
import { createEmptyState } from '../components/empty-state.ts'
import { createStat } from '../components/usage/stat.ts'
import { insertNode, loadCard, renderFailureNotice, renderSuccessNotice } from '../components/request-state.ts'
import type { Boost, BoostAction, Pack } from '../api-types.ts'

const texts = getTexts('account')

void loadCard('boosts', async () => renderBoosts(await callApi('get', '/api/membership/boost')))

function renderBoosts({ checkin, invite, rush, packs, balances }: Boost): HTMLElement[] {
  return [
    createElement(
      'div',
      { class: 'stats' },
      ...(['fast', 'premium'] as const).map((tier) =>
        createStat(
          texts[tier],
          ...insertNode(texts.balance, '{credits}', createElement('strong', {}, formatCount('credits', balances[tier]))),
        ),
      ),
    ),
    createElement('div', { class: 'boost-list' }, renderCheckinRow(checkin), renderRushRow(rush), renderInviteRow(invite)),
    packs.length === 0
      ? createEmptyState('pack', texts.noPacks)
      : createElement('ul', { class: 'packs', role: 'list' }, ...packs.map(renderPack)),
  ]
}

function renderCheckinRow({ available, credits, next_at: nextAt }: Boost['checkin']): HTMLElement {
  const text = available
    ? interpolate(texts.checkinText, { credits: formatCount('credits', credits) })
    : interpolate(texts.checkinDone, { when: formatRelativeTime(nextAt) })
  return renderBoostRow('checkin', texts.checkin, text, available && createActionButton('checkin', texts.checkinButton))
}

function renderRushRow({ active, starts_at: startsAt, ends_at: endsAt, remaining, taken }: Boost['rush']): HTMLElement {
  if (active && endsAt !== null) {
    const text = interpolate(texts.rushText, { packs: formatCount('packs', remaining), when: formatRelativeTime(endsAt) })
    return renderBoostRow(
      'rush_grab',
      texts.rush,
      text,
      remaining > 0 && !taken && createActionButton('rush_grab', texts.rushButton),
    )
  }
  const coming = startsAt !== null && new Date(startsAt).getTime() > Date.now()
  return renderBoostRow(
    'rush_grab',
    texts.rush,
    coming ? interpolate(texts.rushNext, { when: formatRelativeTime(startsAt) }) : texts.rushClosed,
  )
}

function renderInviteRow({ url, credited, limit, credits }: Boost['invite']): HTMLElement {
  const text = interpolate(texts.inviteText, { credits: formatNumber(credits) })
  return createElement(
    'div',
    { class: 'boost-row stacked' },
    createElement(
      'div',
      {},
      createElement('h2', { class: 'row-title' }, texts.invite),
      createElement(
        'p',
        { class: 'sub' },
        text,
        ' ',
        interpolate(texts.inviteCount, { credited: formatNumber(credited), limit: formatNumber(limit) }),
      ),
    ),
    createCopyField(texts.inviteLink, url),
  )
}

function renderBoostRow(action: BoostAction, title: string, text: string, button?: Child): HTMLElement {
  return createElement(
    'div',
    { class: 'boost-row', 'data-row': action },
    createElement('div', {}, createElement('h2', { class: 'row-title' }, title), createElement('p', { class: 'sub' }, text)),
    button,
  )
}

function createActionButton(action: BoostAction, label: string): HTMLElement {
  const button = createElement('button', { class: 'button small', type: 'button', 'data-boost': action }, label)
  button.addEventListener('click', () => runAction(action, button))
  return button
}

/** Tells the outcome at the button, and updates the rest of the page. */
async function runAction(action: BoostAction, button: HTMLButtonElement): Promise<void> {
  button.disabled = true
  let outcome: HTMLElement
  try {
    const { pack: granted, boost: status } = await callApi('post', '/api/membership/boost', { body: { action } })
    outcome = renderSuccessNotice(interpolate(texts.granted, { credits: formatCount('credits', granted.granted) }))
    await loadCard('boosts', async () => renderBoosts(status))
  } catch (failure) {
    outcome = renderFailureNotice(failure)
    await loadCard('boosts', async () => renderBoosts(await callApi('get', '/api/membership/boost')))
  }
  findElement(`[data-row=${action}]`, HTMLElement).append(outcome)
}

function renderPack({ kind, tier, granted, remaining, expires_at: expiresAt }: Pack): HTMLElement {
  return createElement(
    'li',
    {},
    createElement('span', { class: `badge ${tier === 'fast' ? 'light' : 'flagship'}` }, texts[tier]),
    createElement('strong', {}, texts.pack[kind]),
    createElement(
      'span',
      {},
      interpolate(texts.packLeft, { remaining: formatNumber(remaining), granted: formatNumber(granted) }),
    ),
    createElement('span', { class: 'sub' }, interpolate(texts.expires, { when: formatRelativeTime(expiresAt) })),
  )
}
