/** The account page: pools, chart, boosts and turns as they stand now; password; the way out. */
import { usageChart } from './chart.ts'
import { mailCode, readPasted } from './codes.ts'
import { figure, fromNow, moment } from './figures.ts'
import type { Child } from './page.ts'
import { codeBlock, element, fill, find, words } from './page.ts'
import { call, CallFailure } from './service.ts'
import type { Typed } from './show.ts'
import { failureNotice, goodNotice, onSubmit, show } from './show.ts'
import { table } from './table.ts'
import type { Boost, BoostAction, Evidence, Pack, Pool, Turn } from './wire.ts'

const texts = words('account')
const windows = ['day', 'week', 'month'] as const

const usage = call('get', '/api/membership/usage')
const boost = call('get', '/api/membership/boost')

void show('pools', async () => pools((await usage).pools))
void show('chart', async () => usageChart((await usage).days, chartWidth()))
void show('turns', async () => turns((await usage).turns))
void show('boosts', async () => boosts(await boost))

function chartWidth(): number {
  return Math.min(720, Math.max(260, find('[data-live=chart] [data-content]', HTMLElement).clientWidth))
}

function pools(list: readonly Pool[]): HTMLElement {
  return element(
    'div',
    { class: 'pools' },
    ...(['fast', 'premium'] as const).map((tier) =>
      element(
        'section',
        { class: `pool ${tier}`, 'aria-label': texts[tier] },
        element('h3', {}, texts[tier]),
        ...windows
          .map((window) => list.find((pool) => pool.tier === tier && pool.window === window))
          .filter((found) => found !== undefined)
          .map(pool),
      ),
    ),
  )
}

function pool({ window, limit, used, reserved, remaining, resets_at: resetsAt }: Pool): HTMLElement {
  const share = (credits: number) => `${limit === 0 ? 100 : Math.min(100, (credits / limit) * 100)}%`
  const usedPart = element('i', { class: 'used' })
  const heldPart = element('i', { class: 'held' })
  usedPart.style.width = share(used)
  heldPart.style.width = share(reserved)
  const told = fill(texts.usedOf, { used: figure(used), limit: figure(limit) })
  return element(
    'div',
    { class: 'meter-row' },
    element(
      'p',
      { class: 'meter-head' },
      element('span', {}, texts[window]),
      element('strong', {}, fill(texts.left, { left: figure(remaining) })),
    ),
    element(
      'div',
      {
        class: 'meter',
        role: 'meter',
        'aria-label': texts[window],
        'aria-valuemin': 0,
        'aria-valuemax': Math.max(limit, 1),
        'aria-valuenow': Math.min(used, Math.max(limit, 1)),
        'aria-valuetext': told,
      },
      usedPart,
      heldPart,
    ),
    element(
      'p',
      { class: 'meter-foot' },
      element('span', {}, reserved > 0 ? `${told} · ${fill(texts.heldNow, { held: figure(reserved) })}` : told),
      element('span', { title: resetsAt }, fill(texts.resets, { when: fromNow(resetsAt) })),
    ),
  )
}

function boosts({ checkin, invite, rush, packs, balance }: Boost): HTMLElement[] {
  return [
    element('p', { class: 'balance' }, fill(texts.balance, { credits: figure(balance) })),
    element('div', { class: 'boost-list' }, checkinRow(checkin), rushRow(rush), inviteRow(invite)),
    packs.length === 0 ? element('p', { class: 'sub' }, texts.noPacks) : element('ul', { class: 'packs' }, ...packs.map(pack)),
  ]
}

function checkinRow({ available, credits, next_at: nextAt }: Boost['checkin']): HTMLElement {
  const text = available
    ? fill(texts.checkinText, { credits: figure(credits) })
    : fill(texts.checkinDone, { when: fromNow(nextAt) })
  return boostRow(texts.checkin, text, available && actButton('checkin', texts.checkinButton))
}

function rushRow({ active, starts_at: startsAt, ends_at: endsAt, remaining, taken }: Boost['rush']): HTMLElement {
  if (active && endsAt !== null) {
    const text = fill(texts.rushText, { remaining: figure(remaining), when: fromNow(endsAt) })
    return boostRow(texts.rush, text, remaining > 0 && !taken && actButton('rush_grab', texts.rushButton))
  }
  const coming = startsAt !== null && new Date(startsAt).getTime() > Date.now()
  return boostRow(texts.rush, coming ? fill(texts.rushNext, { when: fromNow(startsAt) }) : texts.rushClosed)
}

function inviteRow({ url, credited, limit, credits }: Boost['invite']): HTMLElement {
  const text = fill(texts.inviteText, { credits: figure(credits) })
  return element(
    'div',
    { class: 'boost-row stacked' },
    element(
      'div',
      {},
      element('h3', {}, texts.invite),
      element('p', { class: 'sub' }, text, ' ', fill(texts.inviteCount, { credited: figure(credited), limit: figure(limit) })),
    ),
    codeBlock(texts.inviteLink, url),
  )
}

function boostRow(title: string, text: string, button?: Child): HTMLElement {
  return element(
    'div',
    { class: 'boost-row' },
    element('div', {}, element('h3', {}, title), element('p', { class: 'sub' }, text)),
    button,
  )
}

function actButton(action: BoostAction, label: string): HTMLElement {
  const button = element('button', { class: 'button small', type: 'button', 'data-boost': action }, label)
  button.addEventListener('click', () => act(action, button))
  return button
}

async function act(action: BoostAction, button: HTMLButtonElement): Promise<void> {
  const outcome = find('[data-outcome]', HTMLElement)
  button.disabled = true
  outcome.replaceChildren()
  try {
    const { pack: granted, boost: status } = await call('post', '/api/membership/boost', { body: { action } })
    outcome.replaceChildren(goodNotice(fill(texts.granted, { credits: figure(granted.granted) })))
    await show('boosts', async () => boosts(status))
  } catch (failure) {
    outcome.replaceChildren(failureNotice(failure))
    await show('boosts', async () => boosts(await call('get', '/api/membership/boost')))
  }
  outcome.scrollIntoView({ block: 'nearest' })
}

function pack({ kind, tier, granted, remaining, expires_at: expiresAt }: Pack): HTMLElement {
  return element(
    'li',
    {},
    element('span', { class: `badge ${tier === 'fast' ? 'light' : 'flagship'}` }, texts[tier]),
    element('strong', {}, texts.pack[kind]),
    element('span', {}, fill(texts.packLeft, { remaining: figure(remaining), granted: figure(granted) })),
    element('span', { class: 'sub' }, fill(texts.expires, { when: fromNow(expiresAt) })),
  )
}

const looks = { settled: 'badge', held: 'badge warn', refunded: 'badge good', expired: 'badge good' } as const

function turns(list: readonly Turn[]): HTMLElement {
  if (list.length === 0) return element('p', { class: 'sub empty' }, texts.turnsEmpty)
  return table(
    texts.turnsTitle,
    [
      texts.time,
      texts.model,
      texts.state,
      { content: texts.tokens, class: 'number' },
      { content: texts.credits, class: 'number' },
      texts.request,
    ],
    list.map((turn) => [
      moment(turn.started_at),
      element('code', {}, turn.model),
      element(
        'span',
        {},
        element('span', { class: looks[turn.state] }, texts.states[turn.state]),
        turn.code !== null && element('span', { class: 'sub' }, ` ${turn.code}`),
      ),
      {
        content: `${figure(turn.input_tokens)} / ${figure(turn.output_tokens)}${turn.estimated ? ` (${texts.estimated})` : ''}`,
        class: 'number',
      },
      { content: figure(turn.credits), class: 'number' },
      element('code', { class: 'sub' }, turn.request_id),
    ]),
  )
}

const passwordForm = find('[data-form=password]', HTMLFormElement)
const deleteForm = find('[data-form=delete]', HTMLFormElement)
for (const form of [passwordForm, deleteForm]) {
  readPasted(find('[name=code]', HTMLInputElement, form), mailCode)
  find('[data-prove]', HTMLElement, form).addEventListener('click', () =>
    prove(form).catch((failure: unknown) => outcomeOf(form).replaceChildren(failureNotice(failure))),
  )
}

onSubmit(passwordForm, async (typed, outcome) => {
  const body = { password: typed('password'), ...evidence(typed) }
  if (!(await confirmed(passwordForm, () => call('post', '/api/membership/auth/password', { body })))) return
  passwordForm.reset()
  find('[data-proof]', HTMLElement, passwordForm).hidden = true
  outcome.replaceChildren(goodNotice(texts.passwordSaved))
})

/** What was filled in of password and code; the other one proves nothing. */
function evidence(typed: Typed): Evidence {
  const [current, code] = [typed('current'), typed('code')]
  return { ...(current === '' ? {} : { current }), ...(code === '' ? {} : { code: mailCode(code) }) }
}

/** Where the service wants proof and there is no password to give, the code is sent at once: nobody should have to find out how. */
async function confirmed(form: HTMLFormElement, change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change()
    return true
  } catch (failure) {
    if (!(failure instanceof CallFailure && failure.code === 'proof_required')) throw failure
    await prove(form)
    return false
  }
}

async function prove(form: HTMLFormElement): Promise<void> {
  await call('post', '/api/membership/auth/proof/start')
  const field = find('[data-proof]', HTMLElement, form)
  field.hidden = false
  find('[name=current]', HTMLInputElement, form).value = ''
  outcomeOf(form).replaceChildren(goodNotice(texts.proofSent))
  find('[name=code]', HTMLInputElement, field).focus()
}

function outcomeOf(form: HTMLFormElement): HTMLElement {
  return find('[data-outcome]', HTMLElement, form)
}

const dialog = find('[data-delete]', HTMLDialogElement)
find('[data-open-delete]', HTMLElement).addEventListener('click', () => dialog.showModal())
find('[data-close]', HTMLElement, dialog).addEventListener('click', () => dialog.close())
// Enter in a field sends most forms; one that cannot be undone waits for its button.
dialog.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault()
})
onSubmit(deleteForm, async (typed) => {
  const body = { confirm: typed('email').trim(), ...evidence(typed) }
  if (!(await confirmed(deleteForm, () => call('post', '/api/membership/auth/delete-account', { body })))) return
  sessionStorage.clear()
  location.assign('/')
})
