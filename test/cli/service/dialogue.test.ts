/** `svc chat` as a dialogue, in a real terminal. */
import t from 'tap'
import { chunk, fail, startContractServer, streamOf } from '../../support/contract-server.ts'
import type { Received } from '../../support/contract-server.ts'
import { openTerminal } from '../../support/terminal.ts'

const path = 'POST /v1/chat/completions'
const contents = (received: Received | undefined) =>
  ((received?.body['messages'] ?? []) as { role: string; content: string }[]).map(({ role, content }) => `${role}: ${content}`)

t.test('a dialogue remembers, brings back earlier lines, stops an answer on Ctrl-C, and survives a failure', async (t) => {
  const server = await startContractServer({ [path]: streamOf('# First', '\nanswer') })
  t.teardown(() => server.close())
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_API_KEY: 'svc_live_x' })
  if (terminal === undefined) return

  await terminal.type('svc chat -m svc-2.1')
  await terminal.until(/> $/m)
  await terminal.type('one')
  await terminal.until(/First\nanswer\n> $/m)
  t.match(await terminal.styledScreen(), '\u001b[1mFirst', 'Markdown is rendered')
  t.strictSame(contents(server.received.at(-1)), ['user: one'])

  server.routes[path] = streamOf('second')
  await terminal.type('two')
  await terminal.until(/second\n> $/m)
  t.strictSame(
    contents(server.received.at(-1)),
    ['user: one', 'assistant: # First\nanswer', 'user: two'],
    'the model sees the earlier turns',
  )

  await terminal.press('Up', 'Up', 'Enter')
  await terminal.until(/> one\nsecond\n> $/m)
  t.equal(contents(server.received.at(-1)).at(-1), 'user: one', 'the arrow keys bring back what was typed')

  const closed = new Promise<void>((resolve) => {
    server.routes[path] = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('thinking\n'))
      response.on('close', resolve)
    }
  })
  await terminal.type('slow')
  await terminal.until(/thinking/)
  await terminal.press('C-c')
  await closed
  await terminal.until(/\(stopped\)\n> $/m)

  server.routes[path] = (received, response) => fail(response, received, 'upstream_error', 500)
  await terminal.type('broken')
  await terminal.until(/Ref: mbr_\w+ · upstream_error · stage=upstream · HTTP 502 · up=500\n> $/m)

  server.routes[path] = streamOf('back')
  await terminal.type('again')
  await terminal.until(/back\n> $/m)
  t.notMatch(contents(server.received.at(-1)).join(), /slow|broken/, 'turns without an answer are not told to the model')

  const sent = server.received.length
  await terminal.type('/help')
  await terminal.until(/\/clear +forgets the conversation[^]*> $/m)
  await terminal.type('/hlep')
  await terminal.until(/There is no \/hlep; nothing was sent[^]*> $/m)
  t.equal(server.received.length, sent, 'a word meant for the dialogue is no turn')
  await terminal.type(' /hlep')
  await terminal.until(/back\n> $/m)
  t.equal(contents(server.received.at(-1)).at(-1), 'user: /hlep', 'unless it is meant')

  const found = {
    schema: 'svc.search.v1',
    answer: 'It is **out** [1].',
    results: [{ index: 1, title: 'News', url: 'https://e.example/n' }],
  }
  server.routes[path] = streamOf(JSON.stringify(found))
  await terminal.type('search it')
  await terminal.until(/\[1\] News\n +https:\/\/e\.example\/n\n> $/m)
  server.routes[path] = streamOf('back')
  await terminal.type('more')
  await terminal.until(/back\n> $/m)
  t.match(contents(server.received.at(-1)).at(-2), /^assistant: It is \*\*out\*\* \[1\]\.\n/, 'and it is told as it was read')

  await terminal.type('/clear')
  await terminal.type('fresh')
  await terminal.until(/fresh\nback\n> $/m)
  t.strictSame(contents(server.received.at(-1)), ['user: fresh'])

  // As a paste comes: all at once.
  await terminal.press('a poem', 'Enter', 'of three', 'Enter', 'lines', 'Enter')
  await terminal.until(/lines\nback\n> $/m)
  t.strictSame(contents(server.received.at(-1)).at(-1), 'user: a poem\nof three\nlines')

  await terminal.press('C-d')
  await terminal.until(/\$ $/m)
  await terminal.type('echo "exit=$?"')
  await terminal.until(/exit=0/)
})

t.test('one question on a terminal: a line of progress after a second, Ctrl-C ends with 130', async (t) => {
  let answer = () => {}
  const server = await startContractServer({
    [path]: (_, response) => {
      answer = () => streamOf('done waiting')({} as Received, response, {} as never)
    },
  })
  t.teardown(() => server.close())
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_API_KEY: 'svc_live_x' })
  if (terminal === undefined) return

  await terminal.type('svc chat "hi"')
  await terminal.until(/Waiting for auto …/)
  answer()
  t.notMatch(await terminal.until(/done waiting/), /Waiting for auto/, 'the line is gone when the answer comes')

  await terminal.type('clear; svc chat "hi"; echo "exit=$?"')
  await terminal.until(/Waiting for auto …/)
  await terminal.press('C-c')
  await terminal.until(/Interrupted\.\nexit=130/)
})

t.test('NO_COLOR and TERM=dumb leave Markdown as it is', async (t) => {
  const server = await startContractServer({ [path]: streamOf('# Title') })
  t.teardown(() => server.close())
  const terminal = await openTerminal(t, { SVC_SITE_URL: server.origin, SVC_API_KEY: 'svc_live_x' })
  if (terminal === undefined) return
  for (const setting of ['NO_COLOR=1', 'TERM=dumb']) {
    await terminal.type(`clear; ${setting} svc chat hi; echo end`)
    t.match(await terminal.until(/^end$/m), /^# Title$/m, setting)
  }
})
