/** The account page: pools, chart, boosts and turns as they stand now; password; the way out. */
import { usageChart } from './chart.js'
import { mailCode, readPasted } from './codes.js'
import {
  call,
  codeBlock,
  element,
  failureNotice,
  figure,
  fill,
  find,
  fromNow,
  goodNotice,
  membership,
  moment,
  onSubmit,
  show,
  table,
  texts,
} from './page.js'

const words = texts.account
const windows = ['day', 'week', 'month']

const usage = call('GET', '/api/membership/usage')
const boost = call('GET', '/api/membership/boost')

show('pools', async () => pools((await usage).pools))
show('chart', async () => usageChart((await usage).days, chartWidth()))
show('turns', async () => turns((await usage).turns))
show('boosts', async () => boosts(await boost))

function chartWidth() {
  return Math.min(720, Math.max(260, find('[data-live=chart] [data-content]').clientWidth))
}

function pools(list) {
  return element(
    'div',
    { class: 'pools' },
    ...['fast', 'premium'].map((tier) =>
      element(
        'section',
        { class: `pool ${tier}`, 'aria-label': words[tier] },
        element('h3', {}, words[tier]),
        ...windows
          .map((window) => list.find((pool) => pool.tier === tier && pool.window === window))
          .filter(Boolean)
          .map(pool),
      ),
    ),
  )
}

function pool({ window, limit, used, reserved, remaining, resets_at: resetsAt }) {
  const share = (credits) => `${limit === 0 ? 100 : Math.min(100, (credits / limit) * 100)}%`
  const usedPart = element('i', { class: 'used' })
  const heldPart = element('i', { class: 'held' })
  usedPart.style.width = share(used)
  heldPart.style.width = share(reserved)
  const told = fill(words.usedOf, { used: figure(used), limit: figure(limit) })
  return element(
    'div',
    { class: 'meter-row' },
    element(
      'p',
      { class: 'meter-head' },
      element('span', {}, words[window]),
      element('strong', {}, fill(words.left, { left: figure(remaining) })),
    ),
    element(
      'div',
      {
        class: 'meter',
        role: 'meter',
        'aria-label': words[window],
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
      element('span', {}, reserved > 0 ? `${told} · ${fill(words.heldNow, { held: figure(reserved) })}` : told),
      element('span', { title: resetsAt }, fill(words.resets, { when: fromNow(resetsAt) })),
    ),
  )
}

function boosts(status) {
  const { checkin, invite, rush, packs, balance } = status
  return [
    element('p', { class: 'balance' }, fill(words.balance, { credits: figure(balance) })),
    element('div', { class: 'boost-list' }, checkinRow(checkin), rushRow(rush), inviteRow(invite)),
    packs.length === 0 ? element('p', { class: 'sub' }, words.noPacks) : element('ul', { class: 'packs' }, ...packs.map(pack)),
  ]
}

function checkinRow({ available, credits, next_at: nextAt }) {
  const text =
    available || nextAt === null
      ? fill(words.checkinText, { credits: figure(credits) })
      : fill(words.checkinDone, { when: fromNow(nextAt) })
  return boostRow(words.checkin, text, available && actButton('checkin', words.checkinButton))
}

function rushRow({ active, starts_at: startsAt, ends_at: endsAt, remaining, taken }) {
  if (active) {
    const text = fill(words.rushText, { remaining: figure(remaining), when: fromNow(endsAt) })
    return boostRow(words.rush, text, remaining > 0 && taken !== true && actButton('rush_grab', words.rushButton))
  }
  const coming = startsAt !== null && startsAt !== undefined && new Date(startsAt).getTime() > Date.now()
  return boostRow(words.rush, coming ? fill(words.rushNext, { when: fromNow(startsAt) }) : words.rushClosed, false)
}

function inviteRow({ url, credited, limit, credits }) {
  const text = credits === undefined ? words.inviteTextPlain : fill(words.inviteText, { credits: figure(credits) })
  return element(
    'div',
    { class: 'boost-row stacked' },
    element(
      'div',
      {},
      element('h3', {}, words.invite),
      element('p', { class: 'sub' }, text, ' ', fill(words.inviteCount, { credited: figure(credited), limit: figure(limit) })),
    ),
    codeBlock(words.inviteLink, url),
  )
}

function boostRow(title, text, button) {
  return element(
    'div',
    { class: 'boost-row' },
    element('div', {}, element('h3', {}, title), element('p', { class: 'sub' }, text)),
    button,
  )
}

function actButton(action, label) {
  return element('button', { class: 'button small', type: 'button', 'data-boost': action, onclick: act }, label)
}

async function act(event) {
  const button = event.currentTarget
  const outcome = find('[data-outcome]')
  button.disabled = true
  outcome.replaceChildren()
  try {
    const { pack: granted, boost: status } = await membership('POST', 'boost', { action: button.dataset.boost })
    outcome.replaceChildren(goodNotice(fill(words.granted, { credits: figure(granted.granted) })))
    await show('boosts', async () => boosts(status ?? (await membership('GET', 'boost'))))
  } catch (failure) {
    outcome.replaceChildren(failureNotice(failure))
    await show('boosts', async () => boosts(await membership('GET', 'boost')))
  }
  outcome.scrollIntoView({ block: 'nearest' })
}

function pack({ kind, tier, granted, remaining, expires_at: expiresAt }) {
  return element(
    'li',
    {},
    element('span', { class: `badge ${tier === 'fast' ? 'light' : 'flagship'}` }, words[tier]),
    element('strong', {}, words.pack[kind] ?? kind),
    element('span', {}, fill(words.packLeft, { remaining: figure(remaining), granted: figure(granted) })),
    element('span', { class: 'sub' }, fill(words.expires, { when: fromNow(expiresAt) })),
  )
}

function turns(list) {
  if (list.length === 0) return element('p', { class: 'sub empty' }, words.turnsEmpty)
  const looks = { settled: 'badge', held: 'badge warn', refunded: 'badge good', expired: 'badge good' }
  return table(
    words.turnsTitle,
    [
      words.time,
      words.model,
      words.state,
      { content: words.tokens, class: 'number' },
      { content: words.credits, class: 'number' },
      words.request,
    ],
    list.map((turn) => [
      moment(turn.started_at),
      element('code', {}, turn.model),
      element(
        'span',
        {},
        element('span', { class: looks[turn.state] ?? 'badge' }, words.states[turn.state] ?? turn.state),
        turn.code !== null && element('span', { class: 'sub' }, ` ${turn.code}`),
      ),
      {
        content: `${figure(turn.input_tokens)} / ${figure(turn.output_tokens)}${turn.estimated ? ` (${words.estimated})` : ''}`,
        class: 'number',
      },
      { content: figure(turn.credits), class: 'number' },
      element('code', { class: 'sub' }, turn.request_id),
    ]),
  )
}

const passwordForm = find('[data-form=password]')
const deleteForm = find('[data-form=delete]')
for (const form of [passwordForm, deleteForm]) {
  readPasted(find('[name=code]', form), mailCode)
  find('[data-prove]', form).addEventListener('click', () =>
    prove(form).catch((failure) => find('[data-outcome]', form).replaceChildren(failureNotice(failure))),
  )
}

onSubmit(passwordForm, async ({ password, ...evidence }, outcome) => {
  if (!(await confirmed(passwordForm, 'auth/password', { password, ...given(evidence) }))) return
  passwordForm.reset()
  find('[data-proof]', passwordForm).hidden = true
  outcome.replaceChildren(goodNotice(words.passwordSaved))
})

/** What was filled in of password and code; the other one proves nothing. */
function given({ current, code }) {
  return { ...(current === '' ? {} : { current }), ...(code === '' ? {} : { code: mailCode(code) }) }
}

/** Where the service wants proof and there is no password to give, the code is sent at once: nobody should have to find out how. */
async function confirmed(form, path, body) {
  try {
    await membership('POST', path, body)
    return true
  } catch (failure) {
    if (failure.code !== 'proof_required') throw failure
    await prove(form)
    return false
  }
}

async function prove(form) {
  await membership('POST', 'auth/proof/start')
  const field = find('[data-proof]', form)
  field.hidden = false
  find('[name=current]', form).value = ''
  find('[data-outcome]', form).replaceChildren(goodNotice(words.proofSent))
  find('[name=code]', field).focus()
}

const dialog = find('[data-delete]')
find('[data-open-delete]').addEventListener('click', () => dialog.showModal())
find('[data-close]', dialog).addEventListener('click', () => dialog.close())
// Enter in a field sends most forms; one that cannot be undone waits for its button.
dialog.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault()
})
onSubmit(deleteForm, async ({ email, ...evidence }) => {
  if (!(await confirmed(deleteForm, 'auth/delete-account', { confirm: email.trim(), ...given(evidence) }))) return
  sessionStorage.clear()
  location.assign('/')
})
