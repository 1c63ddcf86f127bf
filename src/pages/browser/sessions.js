/** Sessions and the security log. */
import { element, fill, find, fromNow, membership, moment, show, table, texts } from './page.js'

const words = texts.sessions
const status = find('[data-status]')

refresh()
show('audit', async () => audit((await membership('GET', 'audit?limit=50')).data))

function refresh() {
  return show('sessions', async () => sessions((await membership('GET', 'auth/sessions')).data))
}

function sessions(list) {
  if (list.length === 0) return element('p', { class: 'sub pad-rest' }, words.empty)
  return table(
    words.title,
    [words.device, words.address, words.started, words.lastSeen, { content: words.end, hidden: true }],
    list.map((session) => [
      element(
        'span',
        { class: 'session-name' },
        element('span', { class: `badge ${session.kind === 'cli' ? 'flagship' : 'light'}` }, words[session.kind] ?? session.kind),
        element('span', {}, session.client ?? ''),
        session.current && element('span', { class: 'badge good' }, words.current),
      ),
      element('code', {}, session.address ?? ''),
      moment(session.created_at),
      fromNow(session.last_used_at ?? session.created_at),
      { content: action(session), class: 'end' },
    ]),
  )
}

function action(session) {
  // This one is ended by signing out, at the top of the page.
  if (session.current) return ''
  return element(
    'button',
    {
      class: 'button danger-quiet small',
      type: 'button',
      'aria-label': fill(words.endName, { name: session.client ?? session.kind }),
      onclick: () => end(session),
    },
    words.end,
  )
}

async function end({ id }) {
  await show('sessions', async () => {
    await membership('DELETE', `auth/sessions/${encodeURIComponent(id)}`)
    status.textContent = words.ended
    return sessions((await membership('GET', 'auth/sessions')).data)
  })
}

function audit(list) {
  if (list.length === 0) return element('p', { class: 'sub pad-rest' }, words.auditEmpty)
  return table(
    words.auditTitle,
    [words.event, words.time, words.address, words.reference],
    list.map(({ event, at, address, request_id: requestId }) => [
      words.events[event] ?? event,
      moment(at),
      element('code', {}, address ?? ''),
      element('code', { class: 'sub' }, requestId ?? ''),
    ]),
  )
}
